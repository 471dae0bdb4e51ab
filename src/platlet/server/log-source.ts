// Which run of a container a log is asked of.

import {AgentError} from '#src/api/node/agent.js';
import type {ContainerStatus} from '#src/api/pod.js';

/** Why a container has no log yet, by the reason that it waits for. */
const waitingTexts: Readonly<Record<string, string>> = {
  ErrImagePull: "image can't be pulled",
  ImagePullBackOff: 'trying and failing to pull image',
};

const refused = (text: string): AgentError => new AgentError(400, text);

/**
 * Returns the id of the run whose log is wanted, as statuses have it. Throws what clients are shown if there is none.
 */
export const loggedRun = (pod: string, container: string, status: ContainerStatus | undefined, previous: boolean): string => {
  const of = `container ${JSON.stringify(container)} in pod ${JSON.stringify(pod)}`;
  if (!status) throw refused(`${of} is not available`);
  const {waiting, running, terminated} = status.state ?? {};
  const last = status.lastState?.terminated;
  if (previous) {
    if (!last?.containerID) throw refused(`previous terminated ${of} not found`);
    return last.containerID;
  }
  if (running) return status.containerID ?? '';
  // A run that did not start has no id; then the one before it is meant.
  if (terminated || last) {
    const id = terminated?.containerID || last?.containerID;
    if (!id) throw refused(`${of} is terminated`);
    return id;
  }
  if (waiting) throw refused(`${of} is waiting to start: ${waitingTexts[waiting.reason ?? ''] ?? waiting.reason ?? ''}`);
  throw refused(`${of} is waiting to start - no logs yet`);
};
