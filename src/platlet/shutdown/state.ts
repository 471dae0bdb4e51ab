// When the node last shut down, kept in the agent's folder for the metrics of the next agent.

import {join} from 'node:path';
import type {Host} from '#src/platlet/host/host.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';

export const shutdownState = 'graceful_node_shutdown_state';

/** The times of a shutdown, in ms since the epoch; no end while it goes on. */
export interface ShutdownTimes {
  readonly startedAt?: number | undefined;
  readonly endedAt?: number | undefined;
}

/** The time of upstream's zero value in JSON. */
const unset = '0001-01-01T00:00:00Z';

const textOf = (at: number | undefined): string => (at === undefined ? unset : new Date(at).toISOString());
const timeOf = (text: string = unset): number | undefined => (text === unset ? undefined : Date.parse(text));

export const storeTimes = async (host: Host, root: string, {startedAt, endedAt}: ShutdownTimes): Promise<void> => {
  const path = join(root, shutdownState);
  await host.writeFile(`${path}.tmp`, JSON.stringify({startTime: textOf(startedAt), endTime: textOf(endedAt)}), 0o644);
  await host.rename(`${path}.tmp`, path);
};

/** Returns the times of the last shutdown; none if there was none. */
export const loadTimes = async (host: Pick<Host, 'read'>, root: string): Promise<ShutdownTimes> => {
  const content = await host.read(join(root, shutdownState));
  if (!content) return {};
  const {startTime, endTime} = JSON.parse(content.toString()) as {readonly startTime?: string; readonly endTime?: string};
  return {startedAt: timeOf(startTime), endedAt: timeOf(endTime)};
};

/** Shows the times as metrics, in whole seconds. */
export const showTimes = (metrics: Pick<AgentMetrics, 'shutdownStart' | 'shutdownEnd'>, {startedAt, endedAt}: ShutdownTimes): void => {
  if (startedAt !== undefined) metrics.shutdownStart.set(Math.floor(startedAt / 1000));
  if (endedAt !== undefined) metrics.shutdownEnd.set(Math.floor(endedAt / 1000));
};
