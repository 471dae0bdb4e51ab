// The YAML of an object, with who has written each field, and when, in the margin.

import {useMemo, useState} from 'preact/hooks';
import {shortDuration, useNow} from '#page/base/format.js';
import type {AnyObject} from '#page/api/objects.js';
import {say} from '#page/ui/parts.js';
import {ownersAt, ownersOf, type FieldOwner} from './owners.js';
import {yamlLines, yamlText} from './yaml.js';

/** Returns an object without what is only of use to the server. */
export const withoutManaged = (object: AnyObject): AnyObject => {
  const {apiVersion, kind, metadata: all, ...rest} = object;
  const {managedFields: _, ...metadata} = all;
  return {...(apiVersion ? {apiVersion} : {}), ...(kind ? {kind} : {}), metadata, ...rest};
};

const nameOf = ({manager, subresource}: FieldOwner): string => (subresource ? `${manager} /${subresource}` : manager);

const titleOf = (owner: FieldOwner): string =>
  `${nameOf(owner)} (${owner.operation})${owner.time ? `, ${new Date(owner.time).toISOString()}` : ''}`;

/** What of a line is a key, and what its value. */
const split = (text: string): readonly [lead: string, key: string, rest: string] => {
  const start = text.length - text.replace(/^[ -]*/, '').length;
  const end = text.indexOf(':', start);
  return end < 0 || (text[start] === '"' && !text.includes('":'))
    ? [text.slice(0, start), '', text.slice(start)]
    : [text.slice(0, start), text.slice(start, end), text.slice(end)];
};

const colourOf = (managers: readonly string[], owner: FieldOwner): string => `owner-${managers.indexOf(nameOf(owner)) % 6}`;

export function OwnedYaml({object}: {readonly object: AnyObject}) {
  const [showsOwners, setShowsOwners] = useState(true);
  const now = useNow(10_000);
  const {lines, managers} = useMemo(() => {
    const owners = ownersOf(object, object.metadata.managedFields ?? []);
    const shown = yamlLines(withoutManaged(object)).map(line => ({...line, owners: ownersAt(owners, line.path)}));
    return {lines: shown, managers: [...new Set(shown.flatMap(line => line.owners.map(nameOf)))]};
  }, [object]);
  const copy = () =>
    void navigator.clipboard.writeText(yamlText(withoutManaged(object))).then(
      () => say('The YAML is in the clipboard.'),
      () => say('The browser does not give access to the clipboard.', 'bad'),
    );
  return (
    <div class="owned">
      <div class="bar">
        <label>
          <input type="checkbox" checked={showsOwners} onChange={event => setShowsOwners(event.currentTarget.checked)} /> Owners of fields
        </label>
        <button type="button" onClick={copy}>
          Copy
        </button>
      </div>
      <pre class={showsOwners ? 'yaml with-owners' : 'yaml'} tabIndex={0} aria-label="YAML">
        {lines.map(({text, path, owners: [latest, ...others]}, index) => {
          const [lead, key, rest] = split(text);
          const before = lines[index - 1]?.owners[0];
          const isSame = before && latest && nameOf(before) === nameOf(latest) && before.time === latest.time;
          const all = latest ? [latest, ...others].map(titleOf).join('\n') : '';
          return (
            <div class="line" key={`${path}${index}`}>
              {showsOwners ? (
                <span class={`owner ${latest ? colourOf(managers, latest) : 'none'}`} title={all}>
                  {latest && !isSame ? (
                    <>
                      <b>{nameOf(latest)}</b>
                      {others.length > 0 ? <span>+{others.length}</span> : null}
                      {latest.time ? <i>{shortDuration(now - latest.time)}</i> : null}
                    </>
                  ) : null}
                </span>
              ) : null}
              <code>
                {lead}
                <span class="key">{key}</span>
                {rest}
                {'\n'}
              </code>
            </div>
          );
        })}
      </pre>
    </div>
  );
}
