// `make conformance`: runs the original's conformance tests, by classes, in the clusters that they need. E2E names the
// program, CLASSES the classes, ONLY an expression for names, IMAGES a folder of archives of images, PROCS how many
// tests run at a time, PLAT the program to test, REPORTS where logs and reports are kept.

import {mkdirSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {classesOf, needsOf, testsOf, type ClassName} from './classes.js';
import {realCluster, simulatedCluster, type Cluster} from './cluster.js';
import {missingImages} from './images.js';
import {hasFailed, summary, type ClassRun, type Outcome} from './outcomes.js';
import {imagesOfSuite, runTests, suiteMissing} from './suite.js';

interface Settings {
  readonly file: string;
  readonly classes: readonly ClassName[];
  readonly only: RegExp;
  readonly images: string | undefined;
  readonly processes: number;
  readonly reports: string;
}

const settingsOf = (environment: NodeJS.ProcessEnv): Settings => {
  const {E2E, CLASSES, ONLY, IMAGES, PROCS, REPORTS} = environment;
  const missing = suiteMissing(E2E);
  if (missing) throw new Error(missing);
  const processes = Number(PROCS || 4);
  if (!Number.isInteger(processes) || processes < 1) throw new Error(`PROCS is the number of tests at a time, not ${PROCS}`);
  return {
    file: resolve(E2E!),
    classes: classesOf(CLASSES || 'A,B'),
    only: new RegExp(ONLY ?? ''),
    images: IMAGES ? resolve(IMAGES) : undefined,
    processes,
    reports: resolve(REPORTS || 'dist/conformance'),
  };
};

/** Sets tests aside whose images are missing. */
const withoutImages = async ({file}: Settings, {images}: Cluster, names: readonly string[]): Promise<readonly Outcome[]> => {
  if (!images) return [];
  const ofSuite = await imagesOfSuite(file);
  return names.flatMap((name): readonly Outcome[] => {
    const missing = missingImages(name, ofSuite, images);
    return missing.length > 0 ? [{name, state: 'no image', seconds: 0, reason: missing.join(', ')}] : [];
  });
};

const runClass = async (settings: Settings, name: ClassName, stopping: AbortSignal): Promise<ClassRun> => {
  const names = testsOf(name).filter(test => settings.only.test(test));
  const start = performance.now();
  if (names.length === 0) return {name, outcomes: [], seconds: 0};
  const reports = join(settings.reports, name);
  mkdirSync(reports, {recursive: true});
  console.log(`class ${name} (${needsOf[name]}): ${names.length} tests, logs in ${reports}`);
  const log = join(reports, 'plat.log');
  await using cluster = name === 'A' || name === 'B' ? await simulatedCluster(log) : await realCluster(log, settings.images);
  const aside = await withoutImages(settings, cluster, names);
  const without = new Set(aside.map(outcome => outcome.name));
  const run = {file: settings.file, cluster, reports, processes: settings.processes, stopping};
  const outcomes = await runTests(
    run,
    names.filter(test => !without.has(test)),
  );
  return {name, outcomes: [...outcomes, ...aside], seconds: (performance.now() - start) / 1000};
};

const main = async (): Promise<number> => {
  const settings = settingsOf(process.env);
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());
  const runs: ClassRun[] = [];
  for (const name of settings.classes) if (!stopping.signal.aborted) runs.push(await runClass(settings, name, stopping.signal));
  console.log(`\n${summary(runs)}`);
  return hasFailed(runs) ? 1 : 0;
};

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`make conformance: ${(error as Error).message}`);
  process.exitCode = 2;
}
