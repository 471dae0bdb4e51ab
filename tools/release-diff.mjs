// Lists what a release of the original has that another has not: resources, types, fields, feature gates, flags and
// metrics, as Markdown. docs/releases.md says where the folders come from.
//
//   node tools/release-diff.mjs OLDER NEWER
import {basename, resolve} from 'node:path';
import {asMarkdown, compareReleases} from './release-diff/difference.mjs';
import {readRelease} from './release-diff/read.mjs';

const folders = process.argv.slice(2);
if (folders.length !== 2) {
  console.error('release-diff: name two folders with the source of a release each: OLDER NEWER');
  process.exit(1);
}
try {
  const [older, newer] = folders.map(readRelease);
  const [olderName, newerName] = folders.map(folder => basename(resolve(folder)));
  if (!older.flags || !newer.flags) console.error('release-diff: flags are left out, since a folder has no help/PROGRAM.txt');
  console.log(asMarkdown(compareReleases(older, newer), {older: olderName, newer: newerName}));
} catch (error) {
  console.error(`release-diff: ${error.message}`);
  process.exit(1);
}
