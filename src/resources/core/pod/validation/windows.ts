// Validation of the Windows options of a security context.

import {forbiddenField, invalid, type FieldError} from '#src/api/field-error.js';
import type {PodSpec, WindowsSecurityContextOptions} from '#src/api/pod.js';
import {everyContainer} from './every-container.js';
import {dnsSubdomain} from '#src/resources/validation/values.js';
import type {PodSpecRules} from './rules.js';

const longestSpecKib = 64;
const longestDomain = 256;
const longestUser = 104;
const netBios = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const dnsDomain = /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;

/** Yields the problems of `[DOMAIN\]USER`. */
function* userNameProblems(name: string): Iterable<string> {
  if (name === '') return yield 'cannot be an empty string';
  if (/\p{Cc}/u.test(name)) return yield 'cannot contain control characters';
  const parts = name.split('\\');
  if (parts.length > 2) return yield 'cannot contain more than one backslash';
  const user = parts.at(-1)!;
  const domain = parts.length === 2 ? parts[0]! : undefined;
  if ((domain?.length ?? 0) >= longestDomain) yield `'s Domain length must be under ${longestDomain} characters`;
  if (domain !== undefined && !netBios.test(domain) && !dnsDomain.test(domain))
    yield "'s Domain doesn't match the NetBios nor the DNS format";
  if (user === '') yield "'s User cannot be empty";
  else if (user.length > longestUser) yield `'s User length must not be longer than ${longestUser} characters`;
  if (/^[. ]+$/.test(user)) yield "'s User cannot contain only periods or spaces";
  if (/["/\\:;|=,+*?<>@[\]]/.test(user)) yield `'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]`;
}

export function* validateWindowsOptions(options: WindowsSecurityContextOptions | undefined, path: string): Iterable<FieldError> {
  if (!options) return;
  const {gmsaCredentialSpecName: specName, gmsaCredentialSpec: spec, runAsUserName: user} = options;
  if (specName !== undefined) yield* dnsSubdomain(`${path}.gmsaCredentialSpecName`, specName);
  if (spec === '') yield invalid(`${path}.gmsaCredentialSpec`, spec, 'gmsaCredentialSpec cannot be an empty string');
  else if (Buffer.byteLength(spec ?? '') > longestSpecKib * 1024)
    yield invalid(`${path}.gmsaCredentialSpec`, spec, `gmsaCredentialSpec size must be under ${longestSpecKib} KiB`);
  if (user === undefined) return;
  for (const problem of userNameProblems(user))
    yield invalid(`${path}.runAsUserName`, user, `runAsUserName${problem.startsWith("'") ? '' : ' '}${problem}`);
}

/** Validates host process containers: either all of a pod's or none. */
export function* validateHostProcess(spec: PodSpec, path: string, {allowPrivileged}: PodSpecRules): Iterable<FieldError> {
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess;
  let all = 0;
  let onHost = 0;
  for (const {container, path: at} of everyContainer(spec, path)) {
    all++;
    const own = container.securityContext?.windowsOptions?.hostProcess;
    if (ofPod !== undefined && own !== undefined && ofPod !== own) {
      yield invalid(
        `${at}.securityContext.windowsOptions.hostProcess`,
        own,
        `pod hostProcess value must be identical if both are specified, was ${ofPod}`,
      );
    }
    if (own ?? ofPod) onHost++;
  }
  if (onHost === 0) return;
  if (onHost !== all)
    yield invalid(path, '', 'If pod contains any hostProcess containers then all containers must be HostProcess containers');
  if (!spec.hostNetwork) yield invalid(`${path}.hostNetwork`, false, 'hostNetwork must be true if pod contains any hostProcess containers');
  if (!allowPrivileged) yield forbiddenField(path, 'hostProcess containers are disallowed by cluster policy');
}
