// Validation of the logging configuration.

import {jsonText} from '#src/base/json/json.js';
import {quantityNumber, parseQuantity} from '#src/api/quantity.js';
import {messageOf} from '#src/base/message.js';
import type {Settings} from './fields.js';

const maxVerbosity = 2 ** 31 - 1;
const invalid = (path: string, value: unknown, why: string): string => `logging.${path}: Invalid value: ${jsonText(value)}: ${why}`;
const isVerbosity = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= maxVerbosity;

const moduleErrors = (entry: Readonly<Record<string, unknown>>, index: number): string[] => {
  const {filePattern, verbosity} = entry;
  const path = `vmodule[${index}]`;
  if (typeof filePattern !== 'string' || filePattern === '') return [`logging.${path}: Required value: File pattern must not be empty`];
  if (/[=,]/.test(filePattern)) return [invalid(path, filePattern, 'File pattern must not contain equal sign or comma')];
  return isVerbosity(verbosity) ? [] : [invalid(path, verbosity, `Must be <= ${maxVerbosity}`)];
};

const bufferErrors = (format: 'text' | 'json', size: string, alpha: boolean): string[] => {
  const path = `options.${format}.infoBufferSize`;
  try {
    return quantityNumber(parseQuantity(size)) > 0 && !alpha ? [`logging.${path}: Forbidden: Feature LoggingAlphaOptions is disabled`] : [];
  } catch (error) {
    return [invalid(path, size, messageOf(error))];
  }
};

/** Returns what is invalid in the logging fields, in one line; undefined if nothing. */
export const loggingError = (
  settings: Settings,
  gate: (name: 'LoggingAlphaOptions' | 'LoggingBetaOptions') => boolean,
): string | undefined => {
  const {'logging.format': format, 'logging.vmodule': modules, 'logging.verbosity': verbosity} = settings;
  const alpha = gate('LoggingAlphaOptions');
  const errors = [
    ...(format === 'text' || format === 'json' ? [] : [invalid('format', format, 'Unsupported log format')]),
    ...(format === 'json' && !gate('LoggingBetaOptions') ? ['logging.format: Forbidden: Feature LoggingBetaOptions is disabled'] : []),
    ...(isVerbosity(verbosity) ? [] : [invalid('verbosity', verbosity, `Must be <= ${maxVerbosity}`)]),
    ...(modules.length > 0 && format !== 'text' ? ['logging.vmodule: Forbidden: Only supported for text log format'] : []),
    ...modules.flatMap(moduleErrors),
    ...(['text', 'json'] as const).flatMap(each => [
      ...(settings[`logging.options.${each}.splitStream`] && !alpha
        ? [`logging.options.${each}.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled`]
        : []),
      ...bufferErrors(each, settings[`logging.options.${each}.infoBufferSize`], alpha),
    ]),
  ];
  return errors.length > 1 ? `[${errors.join(', ')}]` : errors[0];
};
