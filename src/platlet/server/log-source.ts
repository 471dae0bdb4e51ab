// Selects the run of a container whose log is requested.

import {AgentError} from '#src/api/node/agent.js';
import type {ContainerStatus} from '#src/api/pod.js';

/** The error messages for containers without a log, by waiting reason. */
const waitingTexts: Readonly<Record<string, string>> = {
  ErrImagePull: "image can't be pulled",
  ImagePullBackOff: 'trying and failing to pull image',
};

const refused = (text: string): AgentError => new AgentError(400, text);

/** Returns the id of the run whose log is requested, as in statuses. Throws the error for clients if there is none. */
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
  // A run that failed to start has no id: the previous run is meant.
  if (terminated || last) {
    const id = terminated?.containerID || last?.containerID;
    if (!id) throw refused(`${of} is terminated`);
    return id;
  }
  if (waiting) throw refused(`${of} is waiting to start: ${waitingTexts[waiting.reason ?? ''] ?? waiting.reason ?? ''}`);
  throw refused(`${of} is waiting to start - no logs yet`);
};
