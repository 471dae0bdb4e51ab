import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, PodSpec} from '#src/api/pod.js';

/** Whether an init container is a sidecar: it keeps running beside the containers after it (KEP-753). */
export const isSidecar = ({restartPolicy}: Pick<Frozen<AnyContainer>, 'restartPolicy'>): boolean => restartPolicy === 'Always';

type Restartable = Pick<Frozen<AnyContainer>, 'restartPolicy' | 'restartPolicyRules'>;

/**
 * Whether a container that exited with this code may be restarted, by its restart policy rules (KEP-5307), its policy
 * or the pod's. `restartAll`: whether the action RestartAllContainers is supported (KEP-5532).
 */
export const mayRestart = (
  container: Restartable,
  spec: Frozen<Pick<PodSpec, 'restartPolicy'>>,
  exitCode: number,
  restartAll = false,
): boolean => {
  if (container.restartPolicy !== undefined) {
    const rule = container.restartPolicyRules?.find(
      ({exitCodes}) => exitCodes && (exitCodes.values?.includes(exitCode) ?? false) === (exitCodes.operator === 'In'),
    );
    if (rule?.action === 'Restart' || (rule?.action === 'RestartAllContainers' && restartAll)) return true;
  }
  const policy = container.restartPolicy ?? spec.restartPolicy;
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
};
