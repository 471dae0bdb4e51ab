// Chooses the tests of `make test-quick`: those that start no program and do not take long, and of these first what
// differs from the main branch.
import {execFileSync} from 'node:child_process';
import {join} from 'node:path';
import {isLong, reached, startsPrograms, testFiles} from './test-files.mjs';

const git = (...args) =>
  execFileSync('git', args, {encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore']})
    .split('\n')
    .filter(Boolean);

/** Returns the commit that this branch began from, or the last commit where there is no main branch. */
const base = () => {
  for (const branch of ['main', 'origin/main']) {
    try {
      return git('merge-base', 'HEAD', branch)[0];
    } catch {
      // Another name, or a checkout without branches.
    }
  }
  return 'HEAD';
};

/** Returns the compiled files of the sources that were changed or added since the branch began. */
const changedFiles = () => {
  const sources = [...git('diff', '--name-only', '--relative', base()), ...git('ls-files', '--others', '--exclude-standard')];
  return new Set(sources.map(source => join('dist', source.replace(/\.ts$/, '.js'))));
};

const without = (files, why) => (files.length === 0 ? [] : [`${files.length} files ${why}`]);

/**
 * Returns groups of files in the order in which they run: changed ones, those that depend on a change, the others; and
 * what is left out.
 */
export const quickFiles = () => {
  const changed = changedFiles();
  const all = testFiles();
  const isChanged = file => changed.has(join('dist/test', file));
  const depends = new Set(all.filter(file => changed.size > 0 && [...reached(join('dist/test', file))].some(each => changed.has(each))));
  const starting = all.filter(file => startsPrograms(join('dist/test', file)));
  const chosen = all.filter(file => !starting.includes(file) && (isChanged(file) || !isLong(file)));
  const groups = [
    chosen.filter(isChanged),
    chosen.filter(file => !isChanged(file) && depends.has(file)),
    chosen.filter(file => !isChanged(file) && !depends.has(file)),
  ];
  const long = all.filter(file => !starting.includes(file) && !chosen.includes(file));
  const changedStarting = starting.filter(isChanged).map(file => `test/${file.replace(/\.js$/, '.ts')}`);
  return {
    files: groups.filter(group => group.length > 0),
    notes: [
      ...without(starting, 'start programs: make test'),
      ...without(long, 'take long: make test'),
      ...(changedStarting.length > 0 ? [`changed, and start programs: make test TESTS="${changedStarting.join(' ')}"`] : []),
    ],
  };
};
