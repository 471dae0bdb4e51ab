// Whether less memory is enough for what is in use. Pure.

/** A limit that is to be lowered, and what is in use below it. */
export interface LoweredLimit {
  /** Undefined: it is not lowered. */
  readonly limit: number | undefined;
  /** Undefined if it is not known. */
  readonly usage: number | undefined;
}

/** Returns why the limits of a pod and its containers cannot be lowered; undefined if they can. */
export const memoryProblem = (pod: LoweredLimit, containers: readonly (LoweredLimit & {readonly name: string})[]): string | undefined => {
  const problems: string[] = [];
  if (pod.limit !== undefined) {
    if (pod.usage === undefined) problems.push('missing pod memory usage');
    else if (pod.usage >= pod.limit) problems.push(`attempting to set pod memory limit (${pod.limit}) below current usage (${pod.usage})`);
  }
  for (const {name, limit, usage} of containers) {
    if (limit === undefined) continue;
    if (usage === undefined) problems.push(`missing container ${JSON.stringify(name)} memory usage`);
    else if (usage >= limit)
      // The usage that is named is that of the pod, as in the original.
      problems.push(
        `attempting to set container ${JSON.stringify(name)} memory limit (${limit}) below current usage (${pod.usage ?? usage})`,
      );
  }
  if (problems.length === 0) return undefined;
  return problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`;
};
