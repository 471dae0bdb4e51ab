import {duplicate, invalid, type FieldError} from '#src/api/field-error.js';
import {dnsLabelProblems, dnsSubdomainProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import {levelIn, versionIn, type Level, type LevelVersion, type Mode} from '#src/apiserver/admission/pod-security/policy.js';
import type {PodSecuritySettings} from '#src/apiserver/admission/pod-security/settings.js';
import {readConfiguration} from '#src/apiserver/configuration/document.js';
import {list, record, text} from '#src/apiserver/configuration/fields.js';
import type {Read} from './read.js';

interface Configuration {
  readonly defaults?: Readonly<Partial<Record<Mode | `${Mode}-version`, string>>>;
  readonly exemptions?: {
    readonly usernames?: readonly string[];
    readonly namespaces?: readonly string[];
    readonly runtimeClasses?: readonly string[];
  };
}

const fields = {
  defaults: record(
    Object.fromEntries(
      (['enforce', 'audit', 'warn'] as const).flatMap(mode => [
        [mode, text],
        [`${mode}-version`, text],
      ]),
    ),
  ),
  exemptions: record({usernames: list(text), namespaces: list(text), runtimeClasses: list(text)}),
};

function* exempted(path: string, names: readonly string[], problemsOf: (name: string) => readonly string[]): Iterable<FieldError> {
  for (const [i, name] of names.entries()) {
    const problems = problemsOf(name);
    if (problems.length > 0) yield invalid(`${path}[${i}]`, name, problems.join(', '));
    else if (names.indexOf(name) < i) yield duplicate(`${path}[${i}]`, name);
  }
}

/** Reads the default levels of namespaces and the exemptions. */
export const readPodSecurity = (source: string, {apiSuffix}: Naming): Read<PodSecuritySettings> => {
  const kind = {
    group: `pod-security.admission.config.${apiSuffix}`,
    versions: ['v1', 'v1beta1', 'v1alpha1'],
    kind: 'PodSecurityConfiguration',
    fields,
  };
  const {defaults = {}, exemptions: {usernames = [], namespaces = [], runtimeClasses = []} = {}} = readConfiguration<Configuration>(
    source,
    [kind],
  );
  const errors: FieldError[] = [];
  const collect = <T>({value, error}: {readonly value: T; readonly error?: FieldError}): T => {
    if (error) errors.push(error);
    return value;
  };
  const mode = (name: Mode): LevelVersion => ({
    level: collect<Level>(levelIn(`defaults.${name}`, defaults[name] || 'privileged', 'restricted')),
    minor: collect<number>(versionIn(`defaults.${name}-version`, defaults[`${name}-version`] || 'latest')),
  });
  const policy = {enforce: mode('enforce'), warn: mode('warn'), audit: mode('audit')};
  errors.push(
    ...exempted('exemptions.namespaces', namespaces, dnsLabelProblems),
    ...exempted('exemptions.runtimeClasses', runtimeClasses, dnsSubdomainProblems),
    ...exempted('exemptions.usernames', usernames, name => (name === '' ? ['username must not be empty'] : [])),
  );
  return {
    value: {
      defaults: policy,
      exempt: {namespaces: new Set(namespaces), usernames: new Set(usernames), runtimeClasses: new Set(runtimeClasses)},
    },
    errors,
  };
};
