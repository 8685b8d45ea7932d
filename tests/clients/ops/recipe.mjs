// The Containerfile in parsed form.

import { createRequire } from 'node:module';

import { text } from './files.mjs';

const { DockerfileParser } = createRequire(import.meta.url)('dockerfile-ast');

/** Base images, build commands, shipped files, and how the image starts. */
export function recipe() {
  const instructions = DockerfileParser.parse(text('Containerfile')).getInstructions();
  const final = instructions.findLastIndex((of) => of.getKeyword() === 'FROM');
  const [built, shipped] = [instructions.slice(0, final), instructions.slice(final)];
  const all = (of, keyword) => of.filter((instruction) => instruction.getKeyword() === keyword);
  const only = (keyword) => {
    const [instruction, ...others] = all(shipped, keyword);
    if (!instruction || others.length) throw new Error(`the image must have one ${keyword}`);
    return instruction;
  };
  const raw = (instruction) => instruction.getRawArgumentsContent();
  const words = (instruction) => instruction.getArguments().map((word) => word.getValue());
  const pairs = (keyword) => Object.fromEntries(all(shipped, keyword).flatMap((of) => of.getProperties()).map((of) => [of.getName(), of.getValue()]));
  const json = (content) => JSON.parse(content.slice(content.indexOf('[')));
  return {
    bases: all(instructions, 'FROM').map((from) => words(from)[0]),
    build: all(built, 'RUN').map(raw).join('\n'),
    /** The commands that fill /image without compiling. */
    furnish: all(built, 'RUN').map(raw).filter((command) => command.startsWith('mkdir -p /image/')).join('\n'),
    copies: all(shipped, 'COPY').map((copy) => {
      const [from, to] = words(copy);
      return { from, to, owner: copy.getFlags().find((flag) => flag.getName() === 'chown')?.getValue() };
    }),
    env: pairs('ENV'),
    labels: pairs('LABEL'),
    folder: raw(only('WORKDIR')),
    volume: raw(only('VOLUME')),
    user: raw(only('USER')),
    stopSignal: raw(only('STOPSIGNAL')),
    health: json(raw(only('HEALTHCHECK'))),
    command: [...json(raw(only('ENTRYPOINT'))), ...json(raw(only('CMD')))],
  };
}
