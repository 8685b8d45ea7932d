/** Where a click may lead: an http(s) address or a path of this page's origin; nothing else is a link. */
export function safeLink(link: string | null): string | undefined {
  if (!link || !/^(https?:\/\/|\/)/i.test(link)) return undefined;
  try {
    return /^https?:$/.test(new URL(link, document.baseURI).protocol) ? link : undefined;
  } catch {
    return undefined;
  }
}

/** Where a picture may come from. */
export function safePicture(address: string | null | undefined): string | undefined {
  return address && /^https:\/\//i.test(address) ? address : undefined;
}
