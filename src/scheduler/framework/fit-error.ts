import {sortedInSteps} from '#src/base/sort-steps.js';
import type {Steps} from '#src/base/steps.js';
import type {Rejection} from './plugin.js';

/** The rejections of nodes: those of single nodes, and the common one of all others. */
export interface NodeRejections {
  readonly byNode: ReadonlyMap<string, Rejection>;
  readonly rest: Rejection | undefined;
  readonly preFilterMessage: string | undefined;
}

/** How many entries are handled in one step. */
const entriesPerStep = 500;

/**
 * Yields the number of rejected nodes per reason, sorted as text. There may be as many reasons as nodes: taints have
 * names.
 */
const histogram = function* ({byNode, rest}: NodeRejections, all: number): Steps<string[]> {
  const counts = new Map<string, number>();
  const count = (reasons: readonly string[], by: number) => {
    for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + by);
  };
  let done = 0;
  for (const {reasons} of byNode.values()) {
    count(reasons, 1);
    if (++done % entriesPerStep === 0) yield;
  }
  if (byNode.size < all) count(rest?.reasons ?? [], all - byNode.size);
  const lines: string[] = [];
  for (const [reason, nodes] of counts) {
    lines.push(`${nodes} ${reason}`);
    if (lines.length % entriesPerStep === 0) yield;
  }
  return yield* sortedInSteps(lines);
};

/** Composes the failure message of a pod that fits no node, in steps. */
export const fitErrorMessage = function* (all: number, findings: NodeRejections, afterwards = ''): Steps<string> {
  const reasons = findings.preFilterMessage ? [findings.preFilterMessage] : yield* histogram(findings, all);
  return [
    `0/${all} nodes are available:`,
    ...(reasons.length > 0 ? [`${reasons.join(', ')}.`] : []),
    ...(afterwards ? [afterwards] : []),
  ].join(' ');
};

/** The failure message where there are no nodes. */
export const noNodesText = 'no nodes available to schedule pods';

/** Part of the message when no resource claim could be deallocated for the pod. */
export const noClaimsText = 'no new claims to deallocate';

/** Part of the message when the plugin of resource claims has not looked at the pod. */
export const noStateText = 'not found';

const maxNoteLength = 1024;

/** Truncates a text to the length limit of an Event's note. */
export const truncateNote = (text: string): string =>
  Buffer.byteLength(text) <= maxNoteLength ? text : `${text.slice(0, maxNoteLength - 4)} ...`;
