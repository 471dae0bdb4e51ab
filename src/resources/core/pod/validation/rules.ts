import type {Naming} from '#src/api/naming.js';
import type {Volume} from '#src/api/pod.js';

/** What stored objects hold that a new one may not: they may keep it. */
export interface Allowances {
  readonly deletionCost: boolean;
  readonly selectorValues: boolean;
  readonly nodeSelectorValues: boolean;
  readonly spreadSelectors: boolean;
  readonly partialHugePages: boolean;
  readonly tokenPaths: boolean;
  readonly hostSysctls: boolean;
  readonly tolerationOperators: boolean;
}

/** What a pod spec is judged by, wherever it stands. */
export interface PodSpecRules {
  readonly naming: Naming;
  readonly allowPrivileged: boolean;
  gate(name: string): boolean;
  readonly allow: Allowances;
  /** A pod's own spec, not a template's. */
  readonly isPod: boolean;
  /** The pod's name, where it is known. */
  readonly podName?: string | undefined;
}

/** What the containers of one spec are judged by. */
export interface ContainerRules extends PodSpecRules {
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly claims: ReadonlySet<string>;
  readonly gracePeriod: number | undefined;
  readonly restartPolicy: string | undefined;
  readonly hostUsers: boolean;
}
