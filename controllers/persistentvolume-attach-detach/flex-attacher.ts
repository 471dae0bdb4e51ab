import type {Naming} from '#src/api/naming.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {runProgram} from '#src/base/program.js';
import type {Attacher, VolumeSpec} from '#controllers/shared/volumes/plugin.js';

/** What a driver program prints. */
interface Answer {
  readonly status?: string;
  readonly message?: string;
  readonly device?: string;
  readonly attached?: boolean;
  readonly capabilities?: {readonly attach?: boolean};
}

const maxAnswerBytes = 1 << 20;

const parsed = (text: string, program: string): Answer => {
  try {
    return JSON.parse(text) as Answer;
  } catch (error) {
    throw new Error(`the volume driver ${program} printed no JSON`, {cause: error});
  }
};

interface FlexAttacherParts {
  readonly naming: Naming;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * Returns the attacher of a driver program of third parties: each call runs the program. Undefined if it does not
 * attach volumes.
 */
export const flexAttacher = async (program: string, {naming, log, signal}: FlexAttacherParts): Promise<Attacher | undefined> => {
  /** Returns what the program says; undefined for a call that it does not support. */
  const call = async (lifetime: AbortSignal, ...args: readonly string[]): Promise<Answer | undefined> => {
    const response = parsed(await runProgram(program, args, {signal: lifetime, maxBytes: maxAnswerBytes}), program);
    if (response.status === 'Not supported') return undefined;
    if (response.status !== 'Success')
      throw new Error(`${args[0]} command failed, status: ${response.status}, reason: ${response.message ?? ''}`);
    return response;
  };
  const optionsOf = ({name, source}: VolumeSpec): string =>
    JSON.stringify({
      [naming.key('pvOrVolumeName')]: name,
      [naming.key('readwrite')]: source.flexVolume?.readOnly ? 'ro' : 'rw',
      ...(source.flexVolume?.fsType ? {[naming.key('fsType')]: source.flexVolume.fsType} : {}),
      ...source.flexVolume?.options,
    });
  try {
    if ((await call(signal, 'init'))?.capabilities?.attach === false) return undefined;
  } catch (error) {
    log.warn({program, err: error}, `a volume driver is not used: ${messageOf(error)}`);
    return undefined;
  }
  return {
    attach: async (spec, node, waiting) =>
      (await waiting.released(() => call(waiting.signal, 'attach', optionsOf(spec), node)))?.device ?? '',
    async detach(spec, node, waiting) {
      await waiting.released(() => call(waiting.signal, 'detach', spec.name, node));
    },
    areAttached: (specs, node) =>
      Promise.all(specs.map(async spec => (await call(signal, 'isattached', optionsOf(spec), node))?.attached ?? true)),
  };
};
