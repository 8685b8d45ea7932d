// How deliveries and reads of a notification grew over time.

const HOUR_MS = 3_600_000;

/**
 * Cumulative deliveries and reads at publication and at the end of each hour with changes. Deliveries that belong to no
 * hour count as made at publication. Null if it is unpublished or nothing has changed since.
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

/** The time by which half of its readers had read it; null without readers. */
export function half(points) {
  const all = points.at(-1).read;
  return all > 0 ? points.find(({ read }) => 2 * read >= all).at : null;
}

/** The points of a polyline for one of the two numbers, in a box of this width and height. */
export function line(points, name, width, height) {
  const [from, to] = [points[0].at, points.at(-1).at];
  const most = Math.max(1, ...points.map(({ delivered, read }) => Math.max(delivered, read)));
  const x = (at) => ((at - from) / Math.max(1, to - from)) * width;
  const y = (number) => height - (Math.max(0, number) / most) * height;
  return points.map((of) => `${x(of.at).toFixed(1)},${y(of[name]).toFixed(1)}`).join(' ');
}
