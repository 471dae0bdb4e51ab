// Images as the agent and a runtime exchange them.

/** An image by name or by id. */
export interface ImageSpec {
  readonly image: string;
  /** The name in the pod, if `image` is a resolved id. */
  readonly userSpecified?: string;
  readonly handler?: string;
  /** Those of the pod that it is for. */
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Image {
  readonly id: string;
  readonly tags: readonly string[];
  readonly digests: readonly string[];
  readonly bytes: number;
  /** The user of its processes: a number or a name. */
  readonly uid?: number;
  readonly username?: string;
  /** Whether it is excluded from garbage collection. */
  readonly isPinned: boolean;
  /** The runtime handler that it was pulled for, if the runtime keeps images apart by handlers. */
  readonly handler?: string;
}

/** Credentials for a registry. */
export interface ImageCredentials {
  readonly username?: string;
  readonly password?: string;
  readonly auth?: string;
  readonly serverAddress?: string;
  readonly identityToken?: string;
  readonly registryToken?: string;
}

export interface FilesystemUsage {
  readonly at: number;
  readonly mountpoint: string;
  readonly usedBytes?: number;
  readonly inodesUsed?: number;
}
