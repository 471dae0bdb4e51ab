// What became of the tests of a run, from the suite's report in JSON.

import type {ClassName} from './classes.js';

export type State = 'passed' | 'failed' | 'skipped' | 'no image';

export interface Outcome {
  readonly name: string;
  readonly state: State;
  readonly seconds: number;
  /** Why it failed or was skipped, in one line. */
  readonly reason?: string;
}

interface SpecReport {
  readonly ContainerHierarchyTexts?: readonly string[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly State: string;
  readonly RunTime: number;
  readonly Failure?: {readonly Message?: string};
}

export type Report = readonly {readonly SpecReports: readonly SpecReport[]}[];

const firstLine = (text: string | undefined): string =>
  text
    ?.split('\n')
    .find(line => line.trim() !== '')
    ?.trim() ?? '';

const outcomeOf = (name: string, spec: SpecReport, broken: SpecReport | undefined): Outcome => {
  const seconds = spec.RunTime / 1e9;
  const reason = firstLine(spec.Failure?.Message);
  if (spec.State === 'passed') return {name, state: 'passed', seconds};
  if (spec.State === 'skipped' && broken)
    return {name, state: 'failed', seconds, reason: `not run: ${broken.LeafNodeType}: ${firstLine(broken.Failure?.Message)}`};
  return {name, state: spec.State === 'skipped' ? 'skipped' : 'failed', seconds, reason: reason || spec.State};
};

/** Returns the outcomes of tests that were asked for. What the report does not have has failed. */
export const outcomesOf = (names: readonly string[], report: Report): readonly Outcome[] => {
  const specs = report.flatMap(suite => suite.SpecReports);
  const broken = specs.find(({LeafNodeType, State}) => LeafNodeType !== 'It' && !['passed', 'skipped'].includes(State));
  const byName = new Map(
    specs
      .filter(({LeafNodeType}) => LeafNodeType === 'It')
      .map(spec => [[...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(' '), spec]),
  );
  return names.map(name => {
    const spec = byName.get(name);
    return spec ? outcomeOf(name, spec, broken) : {name, state: 'failed', seconds: 0, reason: 'not in the report: the suite ended before'};
  });
};

export interface ClassRun {
  readonly name: ClassName;
  readonly outcomes: readonly Outcome[];
  readonly seconds: number;
}

const columns = ['passed', 'failed', 'skipped', 'no image'] as const;

const row = (name: string, cells: readonly (string | number)[]): string =>
  name.padEnd(8) + cells.map(cell => String(cell).padStart(10)).join('');

/** A table by class, and below it each test that did not pass, with its reason. */
export const summary = (runs: readonly ClassRun[]): string => {
  const counts = (outcomes: readonly Outcome[]) => columns.map(state => outcomes.filter(outcome => outcome.state === state).length);
  const all = runs.flatMap(({outcomes}) => outcomes);
  const lines = runs.map(({name, outcomes, seconds}) => row(name, [outcomes.length, ...counts(outcomes), `${Math.round(seconds)} s`]));
  const total = row('all', [all.length, ...counts(all), `${Math.round(runs.reduce((sum, {seconds}) => sum + seconds, 0))} s`]);
  const others = all.filter(({state}) => state !== 'passed').map(({name, state, reason}) => `${state}: ${name}\n  ${reason ?? ''}`);
  return [row('class', ['tests', ...columns, 'time']), ...lines, total, ...(others.length > 0 ? ['', ...others] : [])].join('\n');
};

/** Whether a run shows a fault: a test failed. */
export const hasFailed = (runs: readonly ClassRun[]): boolean => runs.some(({outcomes}) => outcomes.some(({state}) => state === 'failed'));
