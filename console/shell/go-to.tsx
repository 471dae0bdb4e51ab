import {useMemo, useState} from 'preact/hooks';
import {useCell} from '#page/base/cell.js';
import {go} from '#page/base/route.js';
import {resources, type Resource} from '#page/api/kinds.js';
import {listHref} from '#page/objects/hrefs.js';
import {Dialog} from '#page/ui/parts.js';

/** How well a kind answers to what was typed; 0 if it does not. */
const score = (text: string, {plural, kind, shortNames, group}: Resource): number => {
  if (shortNames.includes(text)) return 5;
  if (plural === text || kind.toLowerCase() === text) return 4;
  if (plural.startsWith(text)) return 3;
  return plural.includes(text) || group.includes(text) ? 1 : 0;
};

const most = 12;

/** Goes to a kind by its name, a short name or the beginning of either. */
export function GoTo({close}: {close(): void}) {
  const all = useCell(resources);
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const found = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    return all
      .filter(({verbs}) => verbs.includes('list'))
      .map(resource => ({resource, score: wanted === '' ? 1 : score(wanted, resource)}))
      .filter(each => each.score > 0)
      .sort((one, other) => other.score - one.score || one.resource.plural.length - other.resource.plural.length)
      .slice(0, most);
  }, [all, text]);
  const open = (resource: Resource): void => {
    close();
    go(listHref(resource));
  };
  return (
    <Dialog title="Go to a kind" close={close}>
      <input
        class="go-to"
        autofocus
        role="combobox"
        aria-label="Kind"
        aria-expanded="true"
        aria-controls="kinds-found"
        placeholder="deploy, cm, nodes…"
        value={text}
        onInput={event => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={event => {
          if (event.key === 'ArrowDown') setAt(Math.min(at + 1, found.length - 1));
          else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0));
          else if (event.key === 'Enter' && found[at]) open(found[at].resource);
          else return;
          event.preventDefault();
        }}
      />
      <ul class="found" id="kinds-found" role="listbox">
        {found.map(({resource}, index) => (
          <li key={`${resource.group}/${resource.plural}`} role="option" aria-selected={index === at}>
            <button type="button" class={index === at ? 'plain selected' : 'plain'} onClick={() => open(resource)}>
              {resource.plural} <small>{resource.group}</small>
              <span class="aside">{resource.shortNames.join(', ')}</span>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
