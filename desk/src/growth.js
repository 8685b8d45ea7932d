// How what was sent came to be delivered and read, over time.

const HOUR_MS = 3_600_000;

/**
 * How many had it and had read it: at its publication, and at the end of each hour in which that changed. What is in no hour was delivered as it
 * was published. Null where nothing has changed since.
 */
export function growth({ publishedAt, stats, statsByHour: hours }) {
  if (!publishedAt || hours.length === 0) return null;
  let delivered = stats.deliveredCount - hours.reduce((sum, of) => sum + of.deliveredCount, 0);
  let read = 0;
  const points = [{ at: Date.parse(publishedAt), delivered, read }];
  for (const of of hours) {
    delivered += of.deliveredCount;
    read += of.readCount;
    points.push({ at: Date.parse(of.at) + HOUR_MS, delivered, read });
  }
  return points;
}

/** By when half of those who have read it had done so; null where nobody has. */
export function half(points) {
  const all = points.at(-1).read;
  return all > 0 ? points.find(({ read }) => 2 * read >= all).at : null;
}

/** The points of a line of one of the two numbers, in a box of this width and height. */
export function line(points, name, width, height) {
  const [from, to] = [points[0].at, points.at(-1).at];
  const most = Math.max(1, ...points.map(({ delivered, read }) => Math.max(delivered, read)));
  const x = (at) => ((at - from) / Math.max(1, to - from)) * width;
  const y = (number) => height - (Math.max(0, number) / most) * height;
  return points.map((of) => `${x(of.at).toFixed(1)},${y(of[name]).toFixed(1)}`).join(' ');
}
