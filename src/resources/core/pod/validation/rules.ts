import type {Naming} from '#src/api/naming.js';
import type {Volume} from '#src/api/pod.js';

// The settings of pod validation, passed down from the pod or template to its containers and volumes.

/** What stored objects may keep although a new one may not have it. */
export interface Allowances {
  readonly deletionCost: boolean;
  readonly selectorValues: boolean;
  readonly nodeSelectorValues: boolean;
  readonly spreadSelectors: boolean;
  /** Validates spread keys with the rule that the stored object satisfies. */
  readonly spreadKeys: boolean;
  readonly partialHugePages: boolean;
  readonly tokenPaths: boolean;
  readonly hostSysctls: boolean;
  readonly userNamespaceDevices: boolean;
  // Allowed by a gate.
  readonly comparingTolerations: boolean;
  readonly userNamespaceHostNetwork: boolean;
  readonly envFiles: boolean;
  readonly anyLabelChange: boolean;
  readonly restartRules: boolean;
  readonly restartAll: boolean;
}

/** The rules for a pod spec, in a pod or a template. */
export interface PodSpecRules {
  readonly naming: Naming;
  readonly allowPrivileged: boolean;
  gate(name: string): boolean;
  readonly allow: Allowances;
  /** Set for pods, not for templates. */
  readonly isPod: boolean;
  /** The pod's name, if known. */
  readonly podName?: string | undefined;
  /** Set for mirror pods. */
  readonly isMirror?: boolean;
}

/** The rules for the containers of one spec. */
export interface ContainerRules extends PodSpecRules {
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly claims: ReadonlySet<string>;
  readonly gracePeriod: number | undefined;
  readonly restartPolicy: string | undefined;
  readonly hostUsers: boolean;
}
