import type {Rejection} from './plugin.js';

/** What was found wrong with nodes: with those that were judged, and with all others together. */
export interface NodeRejections {
  readonly byNode: ReadonlyMap<string, Rejection>;
  readonly rest: Rejection | undefined;
  readonly preFilterMessage: string | undefined;
}

/** How many nodes were rejected for each reason, sorted as text. */
const histogram = ({byNode, rest}: NodeRejections, all: number): string[] => {
  const counts = new Map<string, number>();
  const count = (reasons: readonly string[], by: number) => {
    for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + by);
  };
  for (const {reasons} of byNode.values()) count(reasons, 1);
  if (byNode.size < all) count(rest?.reasons ?? [], all - byNode.size);
  return [...counts].map(([reason, nodes]) => `${nodes} ${reason}`).sort();
};

/** Why none of the nodes will do, as people are told. */
export const fitErrorMessage = (all: number, findings: NodeRejections, afterwards = ''): string => {
  const reasons = findings.preFilterMessage ? [findings.preFilterMessage] : histogram(findings, all);
  return [`0/${all} nodes are available:`, ...(reasons.length > 0 ? [`${reasons.join(', ')}.`] : []), ...(afterwards ? [afterwards] : [])].join(' ');
};

/** What people are told where there are no nodes. */
export const noNodesText = 'no nodes available to schedule pods';

/** What people are told where no claim on devices stands in the way of a pod that fits nowhere. */
export const noClaimsText = 'no new claims to deallocate';

const maxNoteLength = 1024;

/** A text that fits the note of an Event. */
export const truncateNote = (text: string): string => (Buffer.byteLength(text) <= maxNoteLength ? text : `${text.slice(0, maxNoteLength - 4)} ...`);
