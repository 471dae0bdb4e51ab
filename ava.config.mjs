// tools/test.mjs names the order in which files begin: those that take longest first, or those that a change concerns.
const order = (process.env['PLAT_TEST_ORDER'] ?? '').split('\n');
const ranks = new Map(order.map((file, rank) => [file, rank]));
const rankOf = path => ranks.get(path.slice(process.cwd().length + 1)) ?? ranks.size;

export default {
  files: ['dist/test/**/*.test.js', 'dist/together/**/*.test.js'],
  require: ['./tools/test-places.mjs', './tools/test-leaks.mjs', './tools/test-times.mjs'],
  timeout: '2m',
  workerThreads: false,
  concurrency: 2,
  sortTestFiles: (one, other) => rankOf(one) - rankOf(other),
};
