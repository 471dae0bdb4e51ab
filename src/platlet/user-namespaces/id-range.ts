// The ids that user namespaces of pods are taken from.

import type {Host} from '#src/platlet/host/host.js';

/** A range of ids of the host. */
export interface IdRange {
  readonly first: number;
  readonly length: number;
}

/** The ids of a pod come in units of this size. */
const unit = 65_536;
const allIds = 2 ** 32;

const numberOf = (text: string, line: string): number => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value >= allIds)
    throw new Error(`error parsing line ${JSON.stringify(line)}: invalid number ${JSON.stringify(text)}`);
  return value;
};

/** Parses what `getsubids` prints: one line such as `0: platlet 65536 7208960`. */
export const parseSubordinateIds = (output: string): IdRange => {
  const lines = output.replace(/^\n+|\n+$/g, '').split('\n');
  if (lines.length !== 1) throw new Error(`error parsing line ${JSON.stringify(output)}: it must contain only one line`);
  const [line = ''] = lines;
  const parts = line.split(/\s+/).filter(Boolean);
  const [, , first = '', length = ''] = parts;
  if (parts.length !== 4) throw new Error(`invalid line ${JSON.stringify(line)}`);
  return {first: numberOf(first, line), length: numberOf(length, line)};
};

/** Throws unless a range can be divided among pods. `agent` is the name of the agent in messages. */
export const checkIdRange = ({first, length}: IdRange, idsPerPod: number, maxPods: number, agent: string): void => {
  if (idsPerPod % unit !== 0) throw new Error(`${agent} user namespace length ${idsPerPod} is not a multiple of ${unit}`);
  if (first % idsPerPod !== 0) throw new Error(`${agent} user assigned ID ${first} is not a multiple of ${idsPerPod}`);
  // The ids of the host's own users are never mapped.
  if (first < idsPerPod) throw new Error(`${agent} user assigned ID ${first} must be greater or equal to ${idsPerPod}`);
  if (length % idsPerPod !== 0) throw new Error(`${agent} user assigned IDs length ${length} is not a multiple of ${idsPerPod}`);
  if (length / idsPerPod < maxPods) throw new Error(`${agent} user assigned IDs are not enough to support ${maxPods} pods`);
};

/**
 * Returns the range of ids for pods: the subordinate ids of the agent's user if there is such a user, and the program
 * that tells them; otherwise all ids but those of the host's own users.
 */
export const idRangeOf = async (host: Pick<Host, 'read' | 'execute'>, user: string, idsPerPod: number): Promise<IdRange> => {
  const usual = {first: idsPerPod, length: allIds - idsPerPod};
  const users = String((await host.read('/etc/passwd')) ?? '').split('\n');
  if (!users.some(line => line.startsWith(`${user}:`))) return usual;
  const uids = await host.execute('getsubids', [user]);
  if (!uids) return usual;
  if (uids.exitCode !== 0)
    throw new Error(`error retrieving additional uids for user ${JSON.stringify(user)}: exit status ${uids.exitCode}`);
  const gids = await host.execute('getsubids', ['-g', user]);
  if (gids?.exitCode !== 0) throw new Error(`error retrieving additional gids for user ${JSON.stringify(user)}`);
  if (uids.output !== gids.output) throw new Error(`mismatched subuids and subgids for user ${JSON.stringify(user)}`);
  return parseSubordinateIds(uids.output);
};
