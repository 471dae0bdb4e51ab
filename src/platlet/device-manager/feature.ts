import {onAbort} from '#src/base/signals.js';
import type {AgentFeature} from '#src/platlet/feature/feature.js';
import type {DeviceStage} from './open.js';

/** Returns the feature that takes registrations of device plugins, and shows the health of devices in pods. */
export const deviceRegistration = ({registration, manager, plugins}: DeviceStage): AgentFeature => ({
  name: 'registration of device plugins',
  async start({workers, gate, log, signal}) {
    await registration.start();
    if (gate('ResourceHealthStatus')) manager.followHealth(uids => uids.forEach(uid => workers.wake(uid)));
    const stop = async (): Promise<void> => {
      await registration[Symbol.asyncDispose]();
      await plugins[Symbol.asyncDispose]();
    };
    onAbort(
      signal,
      () => void stop().catch((error: unknown) => log.error({err: error}, 'failed to stop the registration of device plugins')),
    );
  },
});
