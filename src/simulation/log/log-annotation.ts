import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {PodRecord} from '#src/simulation/pod/record.js';
import {writeLine} from './write-line.js';

/** The annotation whose lines are written to container logs. */
export const logAnnotation = (naming: Naming): string => naming.subKey('simulation', 'log');

/** Parses the annotation: `NAME=line` for the named container, other lines for the first one. */
const linesOf = (text: string, {spec}: Frozen<Pod>): {readonly container: string; readonly line: string}[] => {
  const names = [...(spec?.initContainers ?? []), ...(spec?.containers ?? []), ...(spec?.ephemeralContainers ?? [])].map(({name}) => name);
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map(line => {
      const named = names.find(name => line.startsWith(`${name}=`));
      return named === undefined
        ? {container: spec?.containers[0]?.name ?? '', line}
        : {container: named, line: line.slice(named.length + 1)};
    });
};

/**
 * Writes the lines of the annotation to the logs of the pod's containers, once. Returns false while one of them has not
 * run yet; then nothing is written.
 */
export const writeAnnotatedLines = (naming: Naming, record: PodRecord, now: number): boolean => {
  const text = record.pod.metadata?.annotations?.[logAnnotation(naming)];
  if (text === undefined || record.writtenAnnotation === text) return true;
  const written = linesOf(text, record.pod).map(({container, line}) => ({
    line,
    own: record.containers.find(({name}) => name === container),
  }));
  if (!record.isFinished && written.some(({own}) => !own?.id)) return false;
  for (const {line, own} of written) if (own) writeLine(record, own, line, now);
  record.writtenAnnotation = text;
  return true;
};
