import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, PodSpec} from '#src/api/pod.js';

/** Whether an init container keeps running beside those that come after it (KEP-753). */
export const isSidecar = ({restartPolicy}: Pick<Frozen<AnyContainer>, 'restartPolicy'>): boolean => restartPolicy === 'Always';

type Restartable = Pick<Frozen<AnyContainer>, 'restartPolicy' | 'restartPolicyRules'>;

/**
 * Whether a container that ended with a code may be started again, by its own policy and its exceptions or else by the pod's (KEP-5307).
 * `restartAll`: whether an exception may start all containers of the pod again (KEP-5532).
 */
export const mayRestart = (container: Restartable, spec: Frozen<Pick<PodSpec, 'restartPolicy'>>, exitCode: number, restartAll = false): boolean => {
  if (container.restartPolicy !== undefined) {
    const rule = container.restartPolicyRules?.find(({exitCodes}) => exitCodes && (exitCodes.values?.includes(exitCode) ?? false) === (exitCodes.operator === 'In'));
    if (rule?.action === 'Restart' || (rule?.action === 'RestartAllContainers' && restartAll)) return true;
  }
  const policy = container.restartPolicy ?? spec.restartPolicy;
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
};
