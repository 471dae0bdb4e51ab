// What is said of a pod whose volumes are not all mounted. Pure functions.

/** A volume of a pod that is not mounted. */
export interface MissingVolume {
  /** The name in the pod. */
  readonly name: string;
  readonly isAttached: boolean;
  /** Whether it is known what to mount. */
  readonly isProcessed: boolean;
  /** Why the volume cannot be used, such as that its claim is not bound. */
  readonly problem?: string | undefined;
}

/** How long a pod waits for its other volumes when some cannot be used. */
export const lookMs = 300;

/** Lists the names of volumes as in messages. */
const listed = (volumes: readonly MissingVolume[]): string =>
  `[${volumes
    .map(({name}) => name)
    .sort()
    .join(' ')}]`;

/** Returns which volumes are missing, and how far they are. */
export const missingText = (missing: readonly MissingVolume[]): string => {
  const unattached = missing.filter(({isAttached}) => !isAttached);
  const unprocessed = missing.filter(({isProcessed}) => !isProcessed);
  return `unmounted volumes=${listed(missing)}, unattached volumes=${listed(unattached)}, failed to process volumes=${listed(unprocessed)}`;
};

/** Returns why volumes cannot be used; undefined if all that are missing may still become ready. */
export const unusableText = (missing: readonly MissingVolume[]): string | undefined => {
  const problems = [...new Set(missing.flatMap(({problem}) => problem ?? []))].sort();
  return problems.length > 0 ? `${missingText(missing)}: ${problems.join('; ')}` : undefined;
};

/** Returns the message of the event about volumes that cannot be used. */
export const unmountedMessage = (text: string): string => `Unable to attach or mount volumes: ${text}`;
