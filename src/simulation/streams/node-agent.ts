import type {NodeAgent} from '#src/api/agent.js';
import {logSource} from '#src/simulation/log/source.js';
import {readLog} from '#src/simulation/log/reader.js';
import {attachTo} from './attach.js';
import {figuresOf, recordsOn} from '#src/simulation/figures.js';
import {configurationOf} from '#src/simulation/node/configuration.js';
import type {SimulationWorld} from '#src/simulation/world.js';
import {execIn} from './command.js';
import {listenerAt} from './listener.js';
import {listening, placeAt, podAt, valueIn, type PodsKept} from './place.js';

/** What a simulated node answers about its pods. */
export const nodeAgent = (world: SimulationWorld, pods: PodsKept, node: string): NodeAgent => ({
  logs(address, query, signal) {
    const place = placeAt(pods.recordOf, node, address);
    const {record, of, own} = place;
    const entries = pods.behaviors.of(record.pod, of).log;
    const source = logSource(record, own, query.previous, {entries, valueOf: valueIn(place, world.naming)});
    return readLog({source, query, clock: world.clock, signal, onChange: run => listening(record, run)});
  },
  exec: (address, command) => execIn(world, pods, placeAt(pods.recordOf, node, address), command),
  attach: address => attachTo(world, pods, placeAt(pods.recordOf, node, address)),
  listener: (pod, port) => listenerAt(world, pods, podAt(pods.recordOf, node, pod), port),
  pods: () => recordsOn(world, pods.recordOf, node).map(({pod}) => pod),
  stats: figuresOf(world, pods, node),
  configuration: () => configurationOf(world.agents.get(node)!.machine),
});
