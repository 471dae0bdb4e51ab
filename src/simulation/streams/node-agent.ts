import type {NodeAgent} from '#src/api/agent.js';
import {logSource} from '#src/simulation/log/source.js';
import {readLog} from '#src/simulation/log/reader.js';
import type {PodRecord} from '#src/simulation/pod/record.js';
import type {Behaviors} from '#src/simulation/rules/behaviors.js';
import type {SimulationWorld} from '#src/simulation/world.js';
import {placeAt, valueIn} from './place.js';

export interface PodsKept {
  readonly behaviors: Behaviors;
  recordOf(key: string): PodRecord | undefined;
}

const listening = ({listeners}: PodRecord, run: () => void): Disposable => {
  listeners.add(run);
  return {[Symbol.dispose]: () => void listeners.delete(run)};
};

/** What a simulated node answers about its pods. */
export const nodeAgent = ({naming, clock}: Pick<SimulationWorld, 'naming' | 'clock'>, {behaviors, recordOf}: PodsKept, node: string): NodeAgent => ({
  logs(address, query, signal) {
    const place = placeAt(recordOf, node, address);
    const {record, of, own} = place;
    const entries = behaviors.of(record.pod, of).log;
    const source = logSource(record, own, query.previous, {entries, valueOf: valueIn(place, naming)});
    return readLog({source, query, clock, signal, onChange: run => listening(record, run)});
  },
});
