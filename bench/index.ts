// The benchmarks: `node dist/bench/index.js [--plots | --only-plots] [NAME,NAME…]`. Names are of subjects or rows; all
// without one.

import {parseArgs} from 'node:util';
import {stopLeftovers} from '#bench/load/programs.js';
import {writeReport} from '#bench/plots/report.js';
import {Progress} from '#bench/run/progress.js';
import {productCommit, ResultFile, thisMachine} from '#bench/run/results.js';
import {select, type Selected} from '#bench/run/selection.js';
import {headerLine, rowLine, tableOf} from '#bench/run/table.js';
import {subjects} from './subjects.js';

const resultFolder = 'bench/results';

/** Measures a subject: prints its rows as they come, or all of them as a table, and keeps them. */
const measure = async ({subject, wants}: Selected, file: ResultFile, progress: Progress): Promise<void> => {
  const rows = subject.measure({wants, step: text => progress.step(text)});
  const isStream = Symbol.asyncIterator in rows;
  if (isStream) console.log(headerLine);
  for await (const row of isStream ? rows : await rows) {
    file.add(subject.name, row);
    progress.clear();
    if (isStream) console.log(rowLine(row));
  }
  if (!isStream) console.log(tableOf(await rows));
};

const main = async (): Promise<void> => {
  const {values, positionals} = parseArgs({
    options: {plots: {type: 'boolean', default: false}, 'only-plots': {type: 'boolean', default: false}},
    allowPositionals: true,
  });
  if (values['only-plots']) return writeReport(resultFolder);
  const selected = select(
    subjects,
    positionals.flatMap(names => names.split(',')).filter(name => name !== ''),
  );
  const file = new ResultFile(resultFolder, {startedAt: new Date().toISOString(), commit: productCommit(), machine: thisMachine()});
  const progress = new Progress(process.stderr, selected.length);
  for (const each of selected) {
    const {name} = each.subject;
    const startedAt = performance.now();
    console.log(name);
    progress.begin(name);
    try {
      await measure(each, file, progress);
    } catch (error) {
      file.fail(name, (error as Error).message);
      progress.clear();
      console.error(error);
      process.exitCode = 1;
      await stopLeftovers();
    } finally {
      progress.end();
      file.save(name, (performance.now() - startedAt) / 1000);
    }
    console.log();
  }
  console.log(`results: ${file.path}`);
  if (values.plots) writeReport(resultFolder);
};

try {
  await main();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
