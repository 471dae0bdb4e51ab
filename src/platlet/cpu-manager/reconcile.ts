// Keeps the CPUs of running containers as they are assigned: the shared pool changes as pods come and go.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Log} from '#src/base/log.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';
import {formatCpuSet, type CpuSet} from '#src/platlet/topology/cpuset.js';
import {allocatedContainers} from '#src/platlet/pod/allocated-containers.js';

export interface CpuReconcilerParts {
  readonly runtime: Pick<Runtime, 'updateResources'>;
  readonly log: Log;
  /** Returns the CPUs that a container may use; empty if it is not restricted. */
  affinityOf(uid: string, container: string): CpuSet;
}

/** Writes the CPUs of containers. */
export class CpuReconciler {
  readonly #parts: CpuReconcilerParts;
  /** What was written last, by container id. */
  readonly #written = new Map<string, string>();

  constructor(parts: CpuReconcilerParts) {
    this.#parts = parts;
  }

  /** Updates the running containers of active pods whose CPUs have changed. A failure is logged and tried again. */
  async reconcile(active: readonly Frozen<Pod>[], listed: readonly RuntimePod[]): Promise<void> {
    const {runtime, log, affinityOf} = this.#parts;
    const running = new Map(listed.map(({pod, containers}) => [pod.uid, containers.filter(({state}) => state === 'running')]));
    const present = new Set([...running.values()].flat().map(({id}) => id));
    for (const id of this.#written.keys()) if (!present.has(id)) this.#written.delete(id);
    for (const pod of active)
      for (const {name} of allocatedContainers(pod)) {
        const uid = pod.metadata?.uid ?? '';
        const instance = running.get(uid)?.find(each => each.name === name);
        const cpusetCpus = formatCpuSet(affinityOf(uid, name));
        if (!instance || cpusetCpus === '' || this.#written.get(instance.id) === cpusetCpus) continue;
        try {
          await runtime.updateResources(instance.id, {cpusetCpus});
          this.#written.set(instance.id, cpusetCpus);
        } catch (error) {
          log.error({err: error, container: instance.id, cpus: cpusetCpus}, 'failed to update the CPUs of a container');
        }
      }
  }
}
