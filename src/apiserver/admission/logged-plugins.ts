import type {Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {AdmissionAttributes, AdmissionPlugin} from './admission.js';

/** What each verbosity adds: refusals, and the duration of each plugin. */
const [refusals, durations] = [4, 5];

type Phase = 'admit' | 'validate';

const fieldsOf = (plugin: string, phase: Phase, {operation, resource, subresource, namespace, name}: AdmissionAttributes) => ({
  plugin,
  phase,
  operation,
  resource: subresource ? `${resource}/${subresource}` : resource,
  namespace,
  name,
});

/** Wraps plugins to log their refusals at verbosity 4 and their durations at 5; `--vmodule=admission=5` enables these alone. */
export const loggedPlugins = (
  plugins: readonly AdmissionPlugin[],
  parent: Log,
  clock: Pick<Clock, 'monotonic'>,
): readonly AdmissionPlugin[] => {
  const log = parent.child({component: 'admission'});
  const timed = async <T>(plugin: string, phase: Phase, attributes: AdmissionAttributes, run: () => T | Promise<T>): Promise<T> => {
    const startedAt = clock.monotonic();
    const duration = () => `${(clock.monotonic() - startedAt).toFixed(3)}ms`;
    try {
      const result = await run();
      log.v(durations).info({...fieldsOf(plugin, phase, attributes), duration: duration()}, 'admission plugin has finished');
      return result;
    } catch (error) {
      log
        .v(refusals)
        .info({...fieldsOf(plugin, phase, attributes), duration: duration(), reason: messageOf(error)}, 'request is refused by admission');
      throw error;
    }
  };
  return plugins.map(plugin => ({
    name: plugin.name,
    ...(plugin.admit
      ? {
          admit: attributes =>
            log.v(refusals) === noLog
              ? plugin.admit!(attributes)
              : timed(plugin.name, 'admit', attributes, () => plugin.admit!(attributes)),
        }
      : {}),
    ...(plugin.validate
      ? {
          validate: attributes =>
            log.v(refusals) === noLog
              ? plugin.validate!(attributes)
              : timed(plugin.name, 'validate', attributes, () => plugin.validate!(attributes)),
        }
      : {}),
  }));
};
