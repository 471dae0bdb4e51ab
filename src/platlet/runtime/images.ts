// The images that an agent names to a runtime, and what the runtime reports of them.

/** The name of an image, as a pod gives it or as an id. */
export interface ImageSpec {
  readonly image: string;
  /** The name in the pod, where `image` is resolved. */
  readonly userSpecified?: string;
  readonly handler?: string;
}

export interface Image {
  readonly id: string;
  readonly tags: readonly string[];
  readonly digests: readonly string[];
  readonly bytes: number;
  /** The user that its processes run as: a number or a name. */
  readonly uid?: number;
  readonly username?: string;
  /** Whether it must not be removed. */
  readonly isPinned: boolean;
}

/** Credentials for one registry. */
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
