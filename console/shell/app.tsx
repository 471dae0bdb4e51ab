import {useEffect, useErrorBoundary, useState} from 'preact/hooks';
import {useCell} from '#page/base/cell.js';
import {useKeys} from '#page/base/keys.js';
import {go, hrefOf, route, type Route} from '#page/base/route.js';
import type {Session} from '#page/api/session.js';
import {Certificates} from '#page/certificates/certificates.js';
import {History} from '#page/history/history.js';
import {Objects} from '#page/objects/objects.js';
import {Overview} from '#page/overview/overview.js';
import {Reconciles} from '#page/reconciles/reconciles.js';
import {Time} from '#page/time/time.js';
import {messageOf} from '#src/base/message.js';
import {Messages, Notice} from '#page/ui/parts.js';
import {GoTo} from './go-to.js';
import {Help} from './help.js';
import {Rewound} from './rewound.js';
import {Namespaces} from './namespaces.js';
import {nextTheme, theme} from './theme.js';
import {views} from './views.js';

/** A view, or why it cannot be shown: the others can. */
function Guarded({at}: {readonly at: Route}) {
  const [error, reset] = useErrorBoundary();
  useEffect(() => reset(), [at]);
  return error ? <Notice tone="bad">This view cannot be shown: {messageOf(error)}</Notice> : <Shown at={at} />;
}

function Shown({at}: {readonly at: Route}) {
  switch (at.view) {
    case 'overview':
      return <Overview />;
    case 'objects':
      return <Objects at={at} />;
    case 'pods':
      return <Objects at={{...at, parts: ['core', 'pods', ...at.parts]}} />;
    case 'certificates':
      return <Certificates />;
    case 'history':
      return (
        <>
          <h1 class="unseen">History</h1>
          <History />
        </>
      );
    case 'reconciles':
      return <Reconciles />;
    case 'time':
      return <Time />;
    default:
      return <Notice tone="bad">There is no view “{at.view}”.</Notice>;
  }
}

/** The part of the navigation that a place belongs to. */
const sectionOf = ({view, parts}: Route): string => {
  if (view === 'objects' && parts[0] === 'core' && parts[1] === 'pods') return 'pods';
  return view === 'objects' && parts[1] === 'certificatesigningrequests' ? 'certificates' : view;
};

type Open = 'help' | 'go-to' | undefined;

export function App({session}: {readonly session: Session}) {
  const at = useCell(route);
  const chosenTheme = useCell(theme);
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const section = sectionOf(at);
  useEffect(() => {
    const title = views.find(({id}) => id === section)?.title ?? 'Console';
    document.title = `${at.parts.at(-1) ?? title} · ${session.server} · plat console`;
  }, [at, section, session]);
  useKeys({
    '?': () => setOpen('help'),
    ':': () => setOpen('go-to'),
    t: nextTheme,
    ...Object.fromEntries(views.map(({id, key}) => [`g ${key}`, () => go(hrefOf(id))])),
  });
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={event => {
          event.preventDefault();
          document.querySelector<HTMLElement>('main')?.focus();
        }}
      >
        To the content
      </a>
      <header class="top">
        <a class="brand" href={hrefOf('overview')}>
          plat
        </a>
        <span class="server" title={session.server}>
          {session.server}
        </span>
        <Namespaces />
        <button type="button" onClick={() => setOpen('go-to')} title="Go to a kind (:)">
          Go to <kbd>:</kbd>
        </button>
        <button type="button" onClick={nextTheme} title="Light, dark, or as the system (t)">
          {{system: 'Auto', light: 'Light', dark: 'Dark'}[chosenTheme]}
        </button>
        <button type="button" onClick={() => setOpen('help')} title="Keys (?)" aria-label="Keys">
          ?
        </button>
      </header>
      <nav class="views" aria-label="Views">
        {views.map(({id, title, key}) => (
          <a key={id} href={hrefOf(id)} aria-current={id === section ? 'page' : undefined}>
            {title} <kbd>g {key}</kbd>
          </a>
        ))}
      </nav>
      <main tabIndex={-1} id="main">
        <Rewound />
        <Guarded at={at} />
      </main>
      <Messages />
      {open === 'help' ? <Help close={close} /> : null}
      {open === 'go-to' ? <GoTo close={close} /> : null}
    </>
  );
}
