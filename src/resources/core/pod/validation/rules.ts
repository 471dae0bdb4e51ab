import type {Naming} from '#src/api/naming.js';
import type {Volume} from '#src/api/pod.js';

/** What stored objects hold that a new one may not: they may keep it. */
export interface Allowances {
  readonly deletionCost: boolean;
  readonly selectorValues: boolean;
  readonly nodeSelectorValues: boolean;
  readonly spreadSelectors: boolean;
  /** Keys of spreading that the present rule refuses, so that they are held against the other one. */
  readonly spreadKeys: boolean;
  readonly partialHugePages: boolean;
  readonly tokenPaths: boolean;
  readonly hostSysctls: boolean;
  readonly userNamespaceDevices: boolean;
  // What a gate allows besides.
  readonly comparingTolerations: boolean;
  readonly userNamespaceHostNetwork: boolean;
  readonly envFiles: boolean;
  readonly anyLabelChange: boolean;
  readonly restartRules: boolean;
  readonly restartAll: boolean;
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
  /** Whether the pod only mirrors what its node runs by itself. */
  readonly isMirror?: boolean;
}

/** What the containers of one spec are judged by. */
export interface ContainerRules extends PodSpecRules {
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly claims: ReadonlySet<string>;
  readonly gracePeriod: number | undefined;
  readonly restartPolicy: string | undefined;
  readonly hostUsers: boolean;
}
