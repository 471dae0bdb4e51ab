import type {LogText, NodeAgent, RunCommand} from '#src/api/node/agent.js';
import type {NodeStats} from '#src/api/node/stats.js';
import {logSource} from '#src/simulation/log/source.js';
import {readLog} from '#src/simulation/log/reader.js';
import {attachTo} from '#src/simulation/streams/attach.js';
import {nodeStatsReader, recordsOfNode} from '#src/simulation/node-stats.js';
import {configurationOf} from '#src/simulation/node/configuration.js';
import type {SimulationContext} from '#src/simulation/node/context.js';
import {execInContainer} from '#src/simulation/streams/command.js';
import {listenerAt} from '#src/simulation/streams/listener.js';
import {onPodChange, targetAt, podAt, valueIn, type PodRecords} from '#src/simulation/streams/target.js';

type Arguments<K extends keyof NodeAgent> = Parameters<Extract<NodeAgent[K], (...given: never[]) => unknown>>;

/** The agent API of a simulated node, which responds without a network. */
export interface SimulatedAgent extends NodeAgent {
  logs(...given: Arguments<'logs'>): LogText;
  exec(...given: Arguments<'exec'>): RunCommand;
  attach(...given: Arguments<'attach'>): RunCommand;
  stats(): NodeStats;
}

/** Returns the agent API of a simulated node. */
export const nodeAgent = (context: SimulationContext, pods: PodRecords, node: string): SimulatedAgent => ({
  logs(address, query, signal) {
    const target = targetAt(pods.recordOf, node, address);
    const {record, of, own} = target;
    const entries = pods.behaviors.of(record.pod, of).log;
    const source = logSource(record, own, query.previous, {entries, valueOf: valueIn(target, context.naming)});
    return readLog({source, query, clock: context.clock, timeline: context.timeline, signal, onChange: run => onPodChange(record, run)});
  },
  exec: (address, command) => execInContainer(context, pods, targetAt(pods.recordOf, node, address), command),
  attach: address => attachTo(context, pods, targetAt(pods.recordOf, node, address)),
  listener: (pod, port) => listenerAt(context, pods, podAt(pods.recordOf, node, pod), port),
  pods: () => recordsOfNode(context, pods.recordOf, node).map(({pod}) => pod),
  stats: nodeStatsReader(context, pods, node),
  configuration: () => configurationOf(context.agents.get(node)!.machine),
});
