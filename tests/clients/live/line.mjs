// A proxy between clients and the server that can be cut.

import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** Forwards connections from its own port until it is cut. */
export class Line {
  #sockets = new Set();

  static async to(port) {
    const line = new Line();
    line.server = createServer((near) => line.#join(near, connect(port, '127.0.0.1')));
    line.server.listen(0, '127.0.0.1');
    await once(line.server, 'listening');
    line.url = `http://127.0.0.1:${line.server.address().port}/graphql`;
    return line;
  }

  #join(near, far) {
    for (const [socket, other] of [[near, far], [far, near]]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }

  /** Resets every connection. Returns how many there were. */
  cut() {
    const count = this.#sockets.size / 2;
    for (const socket of this.#sockets) socket.resetAndDestroy();
    return count;
  }

  /** Cuts all connections and accepts no new ones. */
  close() {
    this.server.close();
    this.cut();
  }
}
