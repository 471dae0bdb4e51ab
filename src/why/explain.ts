import type {Naming} from '#src/api/naming.js';
import type {Client} from '#src/client/client.js';
import {Cluster} from './facts/cluster.js';
import type {Discovery} from './facts/discovery.js';
import type {Finding} from './facts/finding.js';
import {namedObject, subjectText, type NamedObject, type Reference} from './facts/reference.js';
import {subjectOf} from './subjects.js';

/** The most objects from the one that is asked about to the cause. */
const maxLinks = 12;

/** A finding about one object of the chain. */
export interface Link extends Omit<Finding, 'next' | 'isFinal'> {
  readonly object: NamedObject;
}

/** The answer: what an object waits for, from itself to the cause. */
export interface Explanation {
  readonly object: NamedObject;
  readonly isBlocked: boolean;
  /** The answer as one sentence. */
  readonly answer: string;
  /** What would end it; undefined if it waits for nothing. */
  readonly ends?: string | undefined;
  /** From the object to the cause, which is the last; empty if it waits for nothing. */
  readonly chain: readonly Link[];
  /** What could not be looked at. */
  readonly notes: readonly string[];
  readonly requests: number;
}

/** Finds out what an object waits for. Rejects if the object cannot be read. */
export const explain = async (
  client: Client,
  of: Reference,
  {discovery, now}: {readonly discovery: Discovery; readonly now: number},
): Promise<Explanation> => {
  const cluster = new Cluster(client, discovery, now);
  const object = await client.resource(of.kind).get(of.name, of.namespace ? {namespace: of.namespace} : {});
  const subject = subjectOf(of.kind);
  const chain: (Finding & {readonly of: Reference})[] = [];
  const seen = new Set<string>();
  for (let at: Reference | undefined = of; at && chain.length < maxLinks && !seen.has(subjectText(at));) {
    seen.add(subjectText(at));
    const finding: Finding | undefined = await findingOf(at, cluster);
    if (finding) chain.push({...finding, of: at});
    at = finding?.next;
  }
  const cause = chain.at(-1);
  return {
    object: namedObject(of, client.naming),
    isBlocked: cause !== undefined,
    answer: cause ? answerOf(of, cause) : `${subjectText(of)} waits for nothing: ${await subject.rest(object, cluster)}.`,
    ends: (chain.find(({isFinal}) => isFinal) ?? cause)?.ends,
    chain: chain.map(each => linkOf(each, client.naming)),
    notes: cluster.notes,
    requests: cluster.requests,
  };
};

const linkOf = ({of, rule, sentence, since, ends, details}: Finding & {readonly of: Reference}, naming: Naming): Link => ({
  object: namedObject(of, naming),
  rule,
  sentence,
  since,
  ends,
  ...(details ? {details} : {}),
});

const findingOf = async ({kind, name, namespace}: Reference, cluster: Cluster): Promise<Finding | undefined> => {
  const object = await cluster.get(kind, name, namespace);
  if (!object) return undefined;
  for (const rule of subjectOf(kind).rules) {
    const finding = await rule(object, cluster);
    if (finding) return {...finding, sentence: finding.sentence.replaceAll(/\s+/g, ' ').trim()};
  }
  return undefined;
};

const answerOf = (of: Reference, {sentence, of: at}: {readonly sentence: string; readonly of: Reference}): string => {
  const text = sentence.replace(/\.$/, '');
  return at === of ? `${subjectText(of)} is blocked: ${text}.` : `${subjectText(of)} is blocked by ${subjectText(at)}: ${text}.`;
};
