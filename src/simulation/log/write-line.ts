import type {ContainerRecord, PodRecord} from '#src/simulation/pod/record.js';

/** The most lines kept of a run's log besides those of its rules. */
const maxWrittenLines = 1000;

/** Writes a line into the log of a running container. */
export const writeLine = ({runs}: PodRecord, {id = '', state}: ContainerRecord, line: string, now: number): void => {
  const run = runs.get(id);
  if (!run || state.is !== 'running') return;
  run.written.push({text: line.replaceAll('$', '$$$$'), stream: 'stdout', afterMs: Math.max(0, now - state.startedAt)});
  if (run.written.length > maxWrittenLines) run.written.shift();
};
