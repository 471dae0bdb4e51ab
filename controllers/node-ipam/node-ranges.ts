import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isConflict, isInvalid, isNotFound} from '#src/api/status.js';
import type {Node} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import type {EventRecorder} from '#src/runtime/events/events.js';

/** The most attempts to write a node's CIDRs before a retry. */
const maxWriteAttempts = 3;

/** Returns the CIDRs of a node's pods. */
export const rangesOf = ({spec}: Frozen<Node>): readonly string[] =>
  spec?.podCIDRs?.length ? spec.podCIDRs : spec?.podCIDR ? [spec.podCIDR] : [];

/** Records what became of the CIDRs of a node. */
export const recordStatus = (events: EventRecorder, node: Frozen<Node>, reason: 'CIDRNotAvailable' | 'CIDRAssignmentFailed'): void =>
  events.normal(node, reason, `Node ${node.metadata?.name} status is now: ${reason}`);

/** Writes the CIDRs of a node. */
export const writeRanges = async (client: Client, node: Frozen<Node>, podCIDRs: readonly string[]): Promise<void> => {
  const {name = '', uid} = node.metadata ?? {};
  const patch = {metadata: {uid}, spec: {podCIDR: podCIDRs[0], podCIDRs}};
  for (let left = maxWriteAttempts - 1; ; left--) {
    try {
      await client.resource(kinds.nodes).patch(name, 'strategic', patch);
      return;
    } catch (error) {
      if (left === 0 || isNotFound(error) || isConflict(error) || isInvalid(error)) throw error;
    }
  }
};
