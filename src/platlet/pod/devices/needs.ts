// Whether containers have the devices that they need. Pure.

export interface DeviceNeed {
  /** The uid of the pod, and the name of the container. */
  readonly uid: string;
  readonly container: string;
  readonly resource: string;
  readonly count: number;
  /** The devices that the container has; undefined if it has got none. */
  readonly assigned: ReadonlySet<string> | undefined;
  /** The healthy devices; undefined if no plugin offers the resource. */
  readonly usable: ReadonlySet<string> | undefined;
  /** Whether the container keeps what it has, whatever became of it: it has run on across a restart of the agent. */
  readonly isKept: boolean;
}

/** Whether nothing is to be allocated. Throws if nothing can be: the message is that of the rejection. */
export const isMet = ({uid, container, resource, count, assigned, usable, isKept}: DeviceNeed): boolean => {
  if (assigned && assigned.size !== count) {
    const [pod, name, quoted] = [uid, container, resource].map(text => JSON.stringify(text));
    throw new Error(`pod ${pod} container ${name} changed request for resource ${quoted} from ${assigned.size} to ${count}`);
  }
  if (isKept) return true;
  if (!usable) throw new Error(`cannot allocate unregistered device ${resource}`);
  if (usable.size === 0) throw new Error(`no healthy devices present; cannot allocate unhealthy devices ${resource}`);
  if (assigned && ![...assigned].every(id => usable.has(id)))
    throw new Error(`previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${resource}`);
  return count === (assigned?.size ?? 0);
};
