"""Small mails of our own, as mail programs write them: what came, what was written now, which rule cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Case(NamedTuple):
    name: str
    mail: str
    new: str
    cut: str


ASKED = """\
> Dear customer,
>
> which colour shall it be?
>
> june"""
HISTORY = """\
Dear customer,

which colour shall it be?

june"""


def _case(name: str, cut: str, new: str, *below: str) -> Case:
    """What was written, and below it what the mail program put there."""
    return Case(name, "\n".join([new, *below]), new, cut)


# The line above a quotation: with marks beneath it, as in mails of plain text, and without, as HTML comes.
ATTRIBUTIONS = {
    "gmail en": "On Mon, Mar 3, 2025 at 10:12 AM June <june@shop.example> wrote:",
    "gmail en wrapped": "On Mon, Mar 3, 2025 at 10:12 AM June, Customer Care of the Shop\n<june@shop.example> wrote:",
    "gmail de": "Am Mo., 3. März 2025 um 10:12 Uhr schrieb June <june@shop.example>:",
    "gmail de wrapped": "Am Mo., 3. März 2025 um 10:12 Uhr schrieb June, der Laden <\njune@shop.example>:",
    "gmail fr": "Le lun. 3 mars 2025 à 10:12, June <june@shop.example> a écrit :",
    "gmail es": "El lun, 3 mar 2025 a las 10:12, June (<june@shop.example>) escribió:",
    "gmail it": "Il giorno lun 3 mar 2025 alle ore 10:12 June <june@shop.example> ha\nscritto:",
    "gmail pt": "Em seg., 3 de mar. de 2025 às 10:12, June <june@shop.example>\nescreveu:",
    "gmail nl": "Op ma 3 mrt 2025 om 10:12 schreef June <june@shop.example>:",
    "gmail pl": "pon., 3 mar 2025 o 10:12 June <june@shop.example> napisał(a):",
    "gmail sv": "Den mån 3 mars 2025 kl 10:12 skrev June <june@shop.example>:",
    "gmail da": "Den man. 3. mar. 2025 kl. 10.12 skrev June <june@shop.example>:",
    "gmail no": "man. 3. mars 2025 kl. 10:12 skrev June <june@shop.example>:",
    "gmail cs": "po 3. 3. 2025 v 10:12 odesílatel June <june@shop.example> napsal:",
    "gmail ru": "пн, 3 мар. 2025 г. в 10:12, June <june@shop.example>:",
    "gmail uk": "пн, 3 бер. 2025 р. о 10:12 June <june@shop.example> пише:",
    "gmail zh": "June <june@shop.example> 于2025年3月3日周一 10:12写道：",
    "gmail zh wrapped": "June <june@shop.example>\n於 2025年3月3日 週一 上午10:12寫道：",
    "gmail ja": "2025年3月3日(月) 10:12 June <june@shop.example>:",
    "gmail ko": "2025년 3월 3일 (월) 오전 10:12, June <june@shop.example>님이 작성:",
    "gmail he": "\u202bבתאריך יום ב׳, 3 במרץ 2025 ב-10:12 מאת \u202aJune\u202c\u200f <\u202ajune@shop.example\u202c\u200f>:\u202c",
    "apple en": "On 3 Mar 2025, at 10:12, June <june@shop.example> wrote:",
    "apple de": "Am 03.03.2025 um 10:12 schrieb June <june@shop.example>:",
    "apple fr": "Le 3 mars 2025 à 10:12, June <june@shop.example> a écrit :",
    "apple it": "Il giorno 3 mar 2025, alle ore 10:12, June <june@shop.example> ha scritto:",
    "apple nl": "Op 3 mrt. 2025, om 10:12 heeft June <june@shop.example> het volgende geschreven:",
    "apple sv": "3 mars 2025 kl. 10:12 skrev June <june@shop.example>:",
    "apple zh": "在 2025年3月3日，10:12，June <june@shop.example> 写道：",
    "apple ja": "2025/03/03 10:12、June <june@shop.example>のメール:",
    "apple pl": "Wiadomość napisana przez June <june@shop.example> w dniu 3 mar 2025, o godz. 10:12:",
    "thunderbird en": "On 3/3/25 10:12, June wrote:",
    "thunderbird de": "Am 03.03.25 um 10:12 schrieb June:",
    "thunderbird es": "El 3/3/25 a las 10:12, June escribió:",
    "thunderbird pl": "W dniu 3.03.2025 o 10:12, June pisze:",
    "thunderbird cs": "Dne 03. 03. 25 v 10:12 June napsal(a):",
    "thunderbird ru": "03.03.2025 10:12, June пишет:",
    "thunderbird pt": "Em 03/03/2025 10:12, June escreveu:",
    "yahoo en": "On Monday, March 3, 2025 at 10:12:00 AM GMT+1, June <june@shop.example> wrote:  ",
    "zoho en": "---- On Mon, 03 Mar 2025 10:12:00 +0100 June <june@shop.example> wrote ----",
}  # fmt: skip

# A quoted header without marks, as Outlook writes it.
HEADERS = {
    "outlook en": "From: June <june@shop.example>\nSent: Monday, March 3, 2025 10:12 AM\nTo: Customer <customer@example.com>\nSubject: RE: Order 1042",
    "outlook en bold": "*From:* June <june@shop.example>\n*Sent:* Monday, March 3, 2025 10:12\n*To:* Customer\n*Subject:* RE: Order 1042",
    "outlook en many": "From: June <june@shop.example>\nDate: Monday, 3 March 2025 at 10:12\nTo: Customer <customer@example.com>,\n  Ada <ada@example.com>,\n  Bert <bert@example.com>\nCc: Cleo <cleo@example.com>\nSubject: Re: Order 1042",
    "outlook de": "Von: June <june@shop.example>\nGesendet: Montag, 3. März 2025 10:12\nAn: Kundin\nBetreff: AW: Bestellung 1042",
    "outlook fr": "De : June <june@shop.example>\nEnvoyé : lundi 3 mars 2025 10:12\nÀ : Cliente\nObjet : RE: Commande 1042",
    "outlook es": "De: June <june@shop.example>\nEnviado el: lunes, 3 de marzo de 2025 10:12\nPara: Cliente\nAsunto: RE: Pedido 1042",
    "outlook it": "Da: June\nInviato: lunedì 3 marzo 2025 10:12\nA: Cliente\nOggetto: R: Ordine 1042",
    "outlook pt": "De: June\nEnviada em: segunda-feira, 3 de março de 2025 10:12\nPara: Cliente\nAssunto: RES: Pedido 1042",
    "outlook nl": "Van: June\nVerzonden: maandag 3 maart 2025 10:12\nAan: Klant\nOnderwerp: RE: Bestelling 1042",
    "outlook pl": "Od: June\nWysłano: poniedziałek, 3 marca 2025 10:12\nDo: Klient\nTemat: ODP: Zamówienie 1042",
    "outlook sv": "Från: June\nSkickat: den 3 mars 2025 10:12\nTill: Kund\nÄmne: SV: Order 1042",
    "outlook da": "Fra: June\nSendt: 3. marts 2025 10:12\nTil: Kunde\nEmne: SV: Ordre 1042",
    "outlook cs": "Od: June\nOdesláno: pondělí 3. března 2025 10:12\nKomu: Zákazník\nPředmět: RE: Objednávka 1042",
    "outlook ru": "От: June\nОтправлено: 3 марта 2025 г. 10:12\nКому: Клиент\nТема: RE: Заказ 1042",
    "outlook uk": "Від: June\nНадіслано: 3 березня 2025 р. 10:12\nКому: Клієнт\nТема: RE: Замовлення 1042",
    "outlook zh": "发件人: June\n发送时间: 2025年3月3日 10:12\n收件人: 客户\n主题: 答复: 订单1042",
    "outlook zh-tw": "寄件者： June\n寄件日期： 2025年3月3日 10:12\n收件者： 客戶\n主旨： 回覆： 訂單1042",
    "outlook ja": "差出人: June\n送信日時: 2025年3月3日 10:12\n宛先: お客様\n件名: RE: 注文1042",
    "outlook ko": "보낸 사람: June\n보낸 날짜: 2025년 3월 3일 10:12\n받는 사람: 고객\n제목: RE: 주문 1042",
    "outlook he": "מאת: June\nנשלח: יום שני 3 מרץ 2025 10:12\nאל: לקוח\nנושא: RE: הזמנה 1042",
}  # fmt: skip

ORIGINALS = {
    "en": "-----Original Message-----",
    "de": "-----Ursprüngliche Nachricht-----",
    "fr": "-----Message d'origine-----",
    "es": "----- Mensaje original -----",
    "it": "----Messaggio originale----",
    "nl": "-----Oorspronkelijk bericht-----",
    "ru": "-------- Исходное сообщение --------",
    "zh": "------------------ 原始邮件 ------------------",
    "ko": "-----원본 메시지-----",
}

SIGNED = {
    "iphone en": "Sent from my iPhone",
    "iphone de": "Von meinem iPhone gesendet",
    "iphone fr": "Envoyé de mon iPhone",
    "iphone es": "Enviado desde mi iPhone",
    "iphone it": "Inviato da iPhone",
    "iphone pt": "Enviado do meu iPhone",
    "iphone nl": "Verstuurd vanaf mijn iPhone",
    "iphone pl": "Wysłane z iPhone'a",
    "iphone sv": "Skickat från min iPhone",
    "iphone da": "Sendt fra min iPhone",
    "iphone cs": "Odesláno z iPhonu",
    "iphone ru": "Отправлено с iPhone",
    "iphone uk": "Надіслано з iPhone",
    "iphone zh": "发自我的iPhone",
    "iphone ja": "iPhoneから送信",
    "iphone ko": "나의 iPhone에서 보냄",
    "iphone he": "נשלח מה-iPhone שלי",
    "outlook mobile": "Get Outlook for iOS\n________________________________",
    "outlook mobile with link": "Get Outlook for Android <https://aka.example/AAb9ysg>",
    "yahoo mobile": "Sent from Yahoo Mail on Android",
    "samsung de": "Diese Nachricht wurde von meinem Android-Mobiltelefon gesendet.",
    "windows": "Sent from Mail for Windows",
}

ANSWER = "The red one, please.\n\nAnd when will it be here?"
FEW = "> Which colour shall it be?"
LONG = "\n".join(f"> line {n}" for n in range(9))
FORWARD = """\
From: Printer <printer@example.com>
Date: Mon, 3 Mar 2025 10:12
Subject: Paper
To: customer@example.com

The paper is out.

On Sun, 2 Mar 2025 at 09:00 Customer <customer@example.com> wrote:
> Where is it?"""

FORWARDS = {
    "gmail": "---------- Forwarded message ---------",
    "apple": "Begin forwarded message:",
    "thunderbird": "-------- Forwarded Message --------",
    "thunderbird de": "-------- Weitergeleitete Nachricht --------",
    "apple fr": "Début du message réexpédié :",
    "gmail es": "---------- Mensaje reenviado ---------",
    "yandex ru": "-------- Пересылаемое сообщение --------",
    "gmail ja": "---------- 転送メッセージ ---------",
}

OTHERS = [
    Case("nothing but text", "Where is my order?\n", "Where is my order?", ""),
    _case("marks alone", "quote", ANSWER, "", ASKED),
    _case("marks behind a blank", "quote", ANSWER, "", " > one", " > two"),
    _case("unknown language", "attribution", ANSWER, "", "Ma 3.3.2025 klo 10.12 June <june@shop.example> kirjoitti:", ASKED),
    _case("quote of a quote", "attribution", ANSWER, "", ATTRIBUTIONS["gmail en"], "> Yes.", ">", "> On Sun, 2 Mar 2025 at 09:00 Customer <customer@example.com> wrote:", ">> Hello?"),
    _case("marks, then Outlook's header", "attribution", ANSWER, "", ATTRIBUTIONS["gmail en"], ASKED, "", HEADERS["outlook en"], "", HISTORY),
    _case("ruler above a header", "headers", ANSWER, "", "_" * 32, HEADERS["outlook en"], "", HISTORY),
    _case("signature", "signature", ANSWER, "", "-- ", "A. Customer", "Example Ltd"),
    _case("signature whose blank is lost", "signature", ANSWER, "--", "A. Customer"),
    _case("signature above a quotation", "attribution", ANSWER, "", "-- ", "A. Customer", "", ATTRIBUTIONS["gmail en"], "", ASKED),
    _case("signature below a quotation", "attribution", ANSWER, "", ATTRIBUTIONS["gmail en"], ASKED, "", "-- ", "A. Customer"),
    _case("mobile signature below a quotation", "attribution", ANSWER, "", ATTRIBUTIONS["apple en"], ASKED, "", "Sent from my iPhone"),
    _case("both signatures", "signature", ANSWER, "-- ", "A. Customer", "", "Sent from my iPhone"),
    Case("answers between", f"Hello,\n\n{ATTRIBUTIONS['gmail en']}\n> Which colour?\nRed.\n> Which size?\n\nLarge.\n\n> june\n", f"Hello,\n\n{ATTRIBUTIONS['gmail en']}\n> Which colour?\nRed.\n> Which size?\n\nLarge.", "attribution"),
    Case("answers between, signed", "> Which colour?\nRed.\n> Which size?\nLarge.\n-- \nA. Customer", "> Which colour?\nRed.\n> Which size?\nLarge.", "signature"),
    Case("answer below what it is about", f"{FEW}\n\nThe red one.", f"{FEW}\n\nThe red one.", ""),
    Case("answer below all of it", f"{ATTRIBUTIONS['thunderbird en']}\n{LONG}\n\nThe red one.\n\n-- \nA. Customer", "The red one.", "attribution"),
    Case("answers above and below", f"Two things.\n\n{LONG}\n\nThe red one.", f"Two things.\n\n{LONG}\n\nThe red one.", ""),
    Case("only a quotation", f"{ATTRIBUTIONS['gmail en']}\n{ASKED}", f"{ATTRIBUTIONS['gmail en']}\n{ASKED}", ""),
    Case("only a header", f"{HEADERS['outlook de']}\n\n{HISTORY}", f"{HEADERS['outlook de']}\n\n{HISTORY}", ""),
    Case("only a phone's signature", "Sent from my iPhone", "Sent from my iPhone", ""),
    Case("a phone's signature and a quotation", f"Sent from my iPhone\n\n{ATTRIBUTIONS['apple en']}\n{ASKED}", "Sent from my iPhone", "attribution"),
    Case("said about writing", "On Monday my neighbour wrote:\n\nnothing at all.", "On Monday my neighbour wrote:\n\nnothing at all.", ""),
    Case("said about a letter", 'On 12 March 2025 your colleague wrote:\n"We refund it."\nPlease do.', 'On 12 March 2025 your colleague wrote:\n"We refund it."\nPlease do.', ""),
    Case("said about a letter in German", 'Am 12.03.2025 hat June geschrieben:\n"Wir erstatten."\nBitte tun Sie das.', 'Am 12.03.2025 hat June geschrieben:\n"Wir erstatten."\nBitte tun Sie das.', ""),
    Case("said about sending", "It broke.\nSent from my account twice?", "It broke.\nSent from my account twice?", ""),
    Case("a form", "From: Berlin\nTo: Paris\nDate: 3 March 2025\nPersons: 2", "From: Berlin\nTo: Paris\nDate: 3 March 2025\nPersons: 2", ""),
    Case("a text behind dashes", "One.\n--\n" + "\n".join(f"Point {n}." for n in range(20)), "One.\n--\n" + "\n".join(f"Point {n}." for n in range(20)), ""),
    Case("a line above the announcement", f"See below.\n{ATTRIBUTIONS['gmail ru']}\n{ASKED}", "See below.", "attribution"),
    Case("a date above the announcement", f"On 5 March 2025 I moved!\n{ATTRIBUTIONS['gmail en']}\n{ASKED}", "On 5 March 2025 I moved!", "attribution"),
    Case("a question above the announcement", f"On 5 March 2025 I asked why?\n{ATTRIBUTIONS['gmail ru']}\n{ASKED}", "On 5 March 2025 I asked why?", "attribution"),
    Case("a first word above the announcement", f"On it.\n{ATTRIBUTIONS['gmail ru']}\n{ASKED}", "On it.", "attribution"),
    _case("a wrapped announcement between", "quote", ANSWER, "", "> Yes.", "", ATTRIBUTIONS["gmail en wrapped"], ">> Hello?"),
    Case("a comparison", "I need > 5 and < 9 pieces.", "I need > 5 and < 9 pieces.", ""),
    Case("line ends of a mail", "Yes.\r\n\r\nOn 3/3/25 10:12, June wrote:\r\n> Sure?\r\n", "Yes.\r", "attribution"),
]  # fmt: skip


def cases() -> Iterator[Case]:
    for name, line in ATTRIBUTIONS.items():
        yield _case(f"{name}, marks", "attribution", ANSWER, "", line, ASKED)
        if name != "apple pl":  # of which no word tells, without marks below it
            yield _case(f"{name}, no marks", "attribution", ANSWER, line, "", HISTORY)
    for name, block in HEADERS.items():
        yield _case(name, "headers", ANSWER, "", block, "", HISTORY)
    for name, line in ORIGINALS.items():
        below = [line, HEADERS["outlook en"], "", HISTORY]
        yield _case(f"original {name}", "original", ANSWER, "", *below)
    for name, line in SIGNED.items():
        yield _case(f"{name}, alone", "mobile-signature", ANSWER, "", line)
        below = [line, "", ATTRIBUTIONS["apple en"], "", ASKED]
        yield _case(f"{name}, quoted", "attribution", ANSWER, "", *below)
    for name, line in FORWARDS.items():
        whole = f"Please look.\n\n{line}\n{FORWARD}"
        yield Case(f"forward {name}", whole, whole, "")
    yield from OTHERS
