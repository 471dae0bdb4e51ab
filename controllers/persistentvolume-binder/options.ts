import {parseYaml} from '#src/schema/decode/yaml.js';
import type {PodTemplateSpec} from '#src/api/pod.js';
import {contentOf, type Files} from '#src/base/files/files.js';
import {messageOf} from '#src/base/message.js';
import {scrubber, type RecyclerSettings} from '#controllers/shared/volumes/recycler.js';

export interface BinderOptions {
  readonly pvclaimbinderSyncPeriod: number;
  readonly enableDynamicProvisioning: boolean;
  readonly enableHostpathProvisioner: boolean;
  readonly flexVolumePluginDir: string;
  readonly pvRecyclerPodTemplateFilepathHostpath: string;
  readonly pvRecyclerMinimumTimeoutHostpath: number;
  readonly pvRecyclerTimeoutIncrementHostpath: number;
  readonly pvRecyclerPodTemplateFilepathNfs: string;
  readonly pvRecyclerMinimumTimeoutNfs: number;
  readonly pvRecyclerIncrementTimeoutNfs: number;
}

const templateOf = async (path: string, files: Files): Promise<PodTemplateSpec> => {
  if (!path) return scrubber;
  const invalid = (why: string, cause?: unknown) => new Error(`the recycler pod template ${path} is invalid: ${why}`, {cause});
  let value: unknown;
  try {
    const read = parseYaml((await contentOf(files, path)).toString());
    if (read.problems[0]) throw new Error(read.problems[0].text);
    value = read.value;
  } catch (error) {
    throw invalid(messageOf(error), error);
  }
  const template = (value ?? {}) as PodTemplateSpec;
  if (!template.spec?.containers?.length) throw invalid('it must be a pod with containers');
  if (!template.spec.volumes?.length) throw invalid('it must have at least one volume, which is replaced by the volume to recycle');
  return template;
};

/**
 * Reads the settings of the pods that recycle volumes. Throws an error of one line for a template that cannot be used.
 */
export const recyclerSettings = async (
  options: BinderOptions,
  files: Files,
): Promise<{readonly hostPath: RecyclerSettings; readonly nfs: RecyclerSettings}> => ({
  hostPath: {
    template: await templateOf(options.pvRecyclerPodTemplateFilepathHostpath, files),
    minimumSeconds: options.pvRecyclerMinimumTimeoutHostpath,
    secondsPerGi: options.pvRecyclerTimeoutIncrementHostpath,
  },
  nfs: {
    template: await templateOf(options.pvRecyclerPodTemplateFilepathNfs, files),
    minimumSeconds: options.pvRecyclerMinimumTimeoutNfs,
    secondsPerGi: options.pvRecyclerIncrementTimeoutNfs,
  },
});
