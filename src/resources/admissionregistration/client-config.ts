import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {dnsSubdomainProblems} from '#src/api/names.js';

const form = '; desired format: https://host[/path]';

/** Validates a webhook's URL: https, without user info, query and fragment. */
export function* validateWebhookUrl(path: string, text: string): Iterable<FieldError> {
  if (text.startsWith(':'))
    return yield required(path, `url must be a valid URL: parse ${JSON.stringify(text)}: missing protocol scheme${form}`);
  const {
    scheme = '',
    user,
    host = '',
    query,
    fragment,
  } = /^(?:(?<scheme>[a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/(?:(?<user>[^/?#@]*)@)?(?<host>[^/?#]*))?[^?#]*(?:\?(?<query>[^#]*))?(?:#(?<fragment>[^]*))?$/.exec(
    text,
  )?.groups ?? {};
  if (scheme && !URL.canParse(text) && host)
    return yield required(path, `url must be a valid URL: parse ${JSON.stringify(text)}: invalid${form}`);
  if (scheme !== 'https') yield invalid(path, scheme, `'https' is the only allowed URL scheme${form}`);
  if (host === '') yield invalid(path, host, `host must be specified${form}`);
  if (user !== undefined) yield invalid(path, user, 'user information is not permitted in the URL');
  if (fragment) yield invalid(path, fragment, 'fragments are not permitted in the URL');
  if (query) yield invalid(path, query, 'query parameters are not permitted in the URL');
}

function* validatePath(path: string, text: string): Iterable<FieldError> {
  if (text === '' || text === '/') return;
  if (text === '//') return yield invalid(path, text, 'segment[0] may not be empty');
  if (!text.startsWith('/')) yield invalid(path, text, "must start with a '/'");
  for (const [i, step] of text.slice(1).replace(/\/$/, '').split('/').entries()) {
    if (step === '') yield invalid(path, text, `segment[${i}] may not be empty`);
    else for (const problem of dnsSubdomainProblems(step)) yield invalid(path, text, `segment[${i}]: ${problem}`);
  }
}

/**
 * Validates the reference to a webhook's service. The original swaps the texts of name and namespace; the paths do the
 * same.
 */
export function* validateServiceReference(
  path: string,
  service: {name?: string; namespace?: string; path?: string; port?: number},
): Iterable<FieldError> {
  if (!service.namespace) yield required(`${path}.name`);
  if (!service.name) yield required(`${path}.namespace`);
  const {port = 0} = service;
  if (port < 1 || port > 65535) yield invalid(`${path}.port`, port, 'port is not valid: must be between 1 and 65535, inclusive');
  if (service.path !== undefined) yield* validatePath(`${path}.path`, service.path);
}
