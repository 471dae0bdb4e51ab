import {join} from 'node:path';
import {withClockHeld, type Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Attacher, VolumePlugin} from './plugin.js';

export interface FlexParts {
  readonly files: Pick<Files, 'foldersIn'>;
  readonly clock: Clock;
  readonly log: Log;
  /** `--flex-volume-plugin-dir`. */
  readonly folder: string;
  /**
   * Returns the attacher of a driver, given its program; undefined if it has none. Only the controller that attaches
   * volumes asks.
   */
  readonly attacher?: (program: string) => Promise<Attacher | undefined>;
}

/**
 * Returns a plugin for each driver program of third parties: `<folder>/<vendor>~<driver>/<driver>` handles FlexVolumes
 * of the driver `<vendor>/<driver>`. Folders are read once.
 */
export const flexPlugins = async ({files, clock, log, folder, attacher}: FlexParts): Promise<readonly VolumePlugin[]> => {
  let names: readonly string[];
  try {
    names = await withClockHeld(clock, () => files.foldersIn(folder));
  } catch (error) {
    log.warn({folder, err: error}, `volume plugins of third parties cannot be read: ${messageOf(error)}`);
    return [];
  }
  return Promise.all(
    names
      .filter(name => !name.startsWith('.'))
      .map(async (name): Promise<VolumePlugin> => {
        const driver = name.replace('~', '/');
        const found = await attacher?.(join(folder, name, name.slice(name.indexOf('~') + 1)));
        return {
          name: driver,
          supportsMountOptions: false,
          canSupport: ({source}) => source.flexVolume?.driver === driver,
          uniqueName: spec => spec.name,
          ...(found ? {attacher: found} : {}),
        };
      }),
  );
};
