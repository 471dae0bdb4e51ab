import type {KubeObject} from '#src/api/types.js';
import type {Cluster} from './cluster.js';
import type {Reference} from './reference.js';

/** What a rule found about one object. */
export interface Finding {
  /** The rule, in words joined by dashes. */
  readonly rule: string;
  /** What the object waits for, as one sentence without its subject and its full stop. */
  readonly sentence: string;
  /** Since when it is so, as on the wire. */
  readonly since?: string | undefined;
  /** What would end it, as one or several sentences. */
  readonly ends: string;
  /** Whether nothing else ends it: then what ends the cause does not help. */
  readonly isFinal?: boolean;
  /** Further lines, such as one for each node. */
  readonly details?: readonly string[];
  /** The object that it waits for, where the search goes on. */
  readonly next?: Reference | undefined;
}

/** Looks for one reason why an object waits. It reads what it needs from the cluster, and changes nothing. */
export type Rule<T extends KubeObject = KubeObject> = (object: T, cluster: Cluster) => Finding | undefined | Promise<Finding | undefined>;

/** How the objects of a kind are explained: the first rule that finds something names what blocks. */
export interface Subject<T extends KubeObject = KubeObject> {
  readonly rules: readonly Rule<T>[];
  /** Why an object of which no rule found anything waits for nothing, as a clause without its full stop. */
  rest(object: T, cluster: Cluster): string | Promise<string>;
}

/** Forgets the type of the objects, so that subjects of many kinds fit into one table. */
export const subject = <T extends KubeObject>(of: Subject<T>): Subject => of as unknown as Subject;
